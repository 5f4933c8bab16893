// Softmax of rows of n elements, a block of threads for each row.
//
// Row r of an array (outer, n, inner) has its element i at first(r) + i * inner.

__device__ long long first(long long n, long long inner) {
    return blockIdx.x / inner * n * inner + blockIdx.x % inner;
}

__device__ T largest(const T* row, long long n, long long inner) {
    T largest = row[0];
    for (long long i = threadIdx.x; i < n; i += THREADS) largest = Larger()(largest, row[i * inner]);
    return of_block(largest, Larger());
}

__device__ T sum_of_exponentials(const T* row, T largest, long long n, long long inner) {
    T sum = 0;
    for (long long i = threadIdx.x; i < n; i += THREADS) sum += exp(row[i * inner] - largest);
    return of_block(sum, Add());
}

// out = exp(x - max x) / sum exp(x - max x)
extern "C" __global__ void softmax(T* out, const T* x, long long n, long long inner) {
    x += first(n, inner);
    out += first(n, inner);
    T most = largest(x, n, inner);
    T factor = 1 / sum_of_exponentials(x, most, n, inner);
    for (long long i = threadIdx.x; i < n; i += THREADS) out[i * inner] = exp(x[i * inner] - most) * factor;
}

// out = x - max x - ln sum exp(x - max x)
extern "C" __global__ void log_softmax(T* out, const T* x, long long n, long long inner) {
    x += first(n, inner);
    out += first(n, inner);
    T most = largest(x, n, inner);
    T logarithm = log(sum_of_exponentials(x, most, n, inner));
    for (long long i = threadIdx.x; i < n; i += THREADS) out[i * inner] = x[i * inner] - most - logarithm;
}

// out = y (grad - sum grad y)
extern "C" __global__ void softmax_gradient(T* out, const T* grad, const T* y, long long n, long long inner) {
    long long start = first(n, inner);
    T sum = 0;
    for (long long i = threadIdx.x; i < n; i += THREADS) sum += grad[start + i * inner] * y[start + i * inner];
    sum = of_block(sum, Add());
    for (long long i = threadIdx.x; i < n; i += THREADS) {
        long long at = start + i * inner;
        out[at] = y[at] * (grad[at] - sum);
    }
}

// out = grad - exp(y) sum grad
extern "C" __global__ void log_softmax_gradient(T* out, const T* grad, const T* y, long long n, long long inner) {
    long long start = first(n, inner);
    T sum = 0;
    for (long long i = threadIdx.x; i < n; i += THREADS) sum += grad[start + i * inner];
    sum = of_block(sum, Add());
    for (long long i = threadIdx.x; i < n; i += THREADS) {
        long long at = start + i * inner;
        out[at] = grad[at] - exp(y[at]) * sum;
    }
}
