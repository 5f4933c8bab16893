// Normalization of the rows of an array (outer, rows, inner), a block of threads for each row. A row is what is
// normalized together: outer * inner elements. In layer norms outer is 1, in batch norms inner is an image's plane.
//
// Element i of a row uses weight (row * n / shared + i / shared) % weights: `shared` neighbours have one weight, and all
// rows' weights follow each other, again from the first on when there are no more.

struct Row {
    long long inner, n, step, start, shared, weights;

    __device__ Row(long long outer, long long inner, long long shared, long long weights)
        : inner(inner), n(outer * inner), step(gridDim.x * inner), start(blockIdx.x * inner), shared(shared),
          weights(weights) {}

    __device__ long long at(long long i) { return start + i / inner * step + i % inner; }

    __device__ long long weight(long long i) { return (blockIdx.x * (n / shared) + i / shared) % weights; }
};

__device__ T mean_of(const T* x, Row row) {
    T sum = 0;
    for (long long i = threadIdx.x; i < row.n; i += THREADS) sum += x[row.at(i)];
    return of_block(sum, Add()) / row.n;
}

// 1 / sqrt(variance + eps)
__device__ T scale_of(const T* x, T mean, double eps, Row row) {
    T sum = 0;
    for (long long i = threadIdx.x; i < row.n; i += THREADS) {
        T centred = x[row.at(i)] - mean;
        sum += centred * centred;
    }
    return 1 / sqrt(of_block(sum, Add()) / row.n + T(eps));
}

// out = (x - mean) / sqrt(variance + eps) * weight + bias
extern "C" __global__ void normalize_into(T* out, const T* x, const T* weight, const T* bias, double eps,
                                          long long outer, long long inner, long long shared, long long weights) {
    Row row(outer, inner, shared, weights);
    T mean = mean_of(x, row);
    T scale = scale_of(x, mean, eps, row);
    for (long long i = threadIdx.x; i < row.n; i += THREADS) {
        T normal = (x[row.at(i)] - mean) * scale;
        if (weight) normal *= weight[row.weight(i)];
        if (bias) normal += bias[row.weight(i)];
        out[row.at(i)] = normal;
    }
}

// result = scale * (u - mean(u) - normal * mean(u * normal)) and product = grad * normal,
// where u is grad * weight, and normal is (x - mean) * scale
extern "C" __global__ void gradient_into(T* result, T* product, const T* grad, const T* x, const T* weight, double eps,
                                         long long outer, long long inner, long long shared, long long weights) {
    Row row(outer, inner, shared, weights);
    T mean = mean_of(x, row);
    T scale = scale_of(x, mean, eps, row);
    T sum = 0, slope = 0;
    for (long long i = threadIdx.x; i < row.n; i += THREADS) {
        T normal = (x[row.at(i)] - mean) * scale;
        T u = weight ? grad[row.at(i)] * weight[row.weight(i)] : grad[row.at(i)];
        sum += u;
        slope += u * normal;
        product[row.at(i)] = grad[row.at(i)] * normal;
    }
    sum = of_block(sum, Add()) / row.n;
    slope = of_block(slope, Add()) / row.n;
    for (long long i = threadIdx.x; i < row.n; i += THREADS) {
        T normal = (x[row.at(i)] - mean) * scale;
        T u = weight ? grad[row.at(i)] * weight[row.weight(i)] : grad[row.at(i)];
        result[row.at(i)] = scale * (u - sum - normal * slope);
    }
}
