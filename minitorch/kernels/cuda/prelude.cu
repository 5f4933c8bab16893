// What every kernel begins with. The line before it says which type T is: that of the elements.
//
// A kernel runs in blocks of THREADS threads. Those of one block share memory, and wait for each other.

const int THREADS = 256;

struct Add {
    __device__ T operator()(T a, T b) { return a + b; }
};

struct Larger {
    __device__ T operator()(T a, T b) { return a > b ? a : b; }
};

// What combines the values of all threads of a block, told to each of them: halves are combined until one value is left.
template <typename Combine>
__device__ T of_block(T value, Combine combine) {
    __shared__ T values[THREADS];
    values[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) values[threadIdx.x] = combine(values[threadIdx.x], values[threadIdx.x + half]);
        __syncthreads();
    }
    T result = values[0];
    __syncthreads();  // nobody writes the next values before all have read
    return result;
}

// The number of a thread among all of the kernel.
__device__ long long thread_number() { return (long long)blockIdx.x * THREADS + threadIdx.x; }
