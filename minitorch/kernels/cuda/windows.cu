// Taking windows of an array (planes, depth, height, width), and its adjoint: im2col and col2im.
//
// The window at position o of the output sees place o * stride + k * dilation at its own place k.

// columns = what the windows see: (planes, kernel of 3 dimensions, positions of 3 dimensions), a thread for each element
extern "C" __global__ void take_windows(T* columns, const T* array, long long count,
                                        long long depth, long long height, long long width,  // the array's
                                        long long k0, long long k1, long long k2,            // the kernel's
                                        long long n0, long long n1, long long n2,            // the positions'
                                        long long s0, long long s1, long long s2,            // strides
                                        long long d0, long long d1, long long d2) {          // dilations
    long long element = thread_number();
    if (element >= count) return;
    long long c = element % n2, b = element / n2 % n1, a = element / n2 / n1 % n0;
    long long place = element / n2 / n1 / n0;
    long long k = place % k2, j = place / k2 % k1, i = place / k2 / k1 % k0;
    long long plane = place / k2 / k1 / k0;
    columns[element] = array[((plane * depth + a * s0 + i * d0) * height + b * s1 + j * d1) * width + c * s2 + k * d2];
}

// The adjoint has a thread for each element of the array. It adds up the windows' places k for which
// o = (place - k * dilation) / stride is a position: nobody else writes to it.

// The position at which an element of one dimension is seen at place k; -1 if there is none.
__device__ long long position(long long place, long long k, long long stride, long long dilation, long long size) {
    long long from = place - k * dilation;
    return from < 0 || from % stride || from / stride >= size ? -1 : from / stride;
}

// array += the columns (planes, kernel of 3 dimensions, positions of 3 dimensions) that show each element
extern "C" __global__ void add_windows(T* array, const T* columns, long long count,
                                       long long depth, long long height, long long width,  // the array's
                                       long long k0, long long k1, long long k2,            // the kernel's
                                       long long n0, long long n1, long long n2,            // the positions'
                                       long long s0, long long s1, long long s2,            // strides
                                       long long d0, long long d1, long long d2) {          // dilations
    long long element = thread_number();
    if (element >= count) return;
    long long w = element % width, h = element / width % height, d = element / width / height % depth;
    long long plane = element / width / height / depth;
    T sum = 0;
    for (long long i = 0; i < k0; i++) {
        long long a = position(d, i, s0, d0, n0);
        for (long long j = 0; a >= 0 && j < k1; j++) {
            long long b = position(h, j, s1, d1, n1);
            for (long long k = 0; b >= 0 && k < k2; k++) {
                long long c = position(w, k, s2, d2, n2);
                if (c >= 0) sum += columns[((((plane * k0 + i) * k1 + j) * k2 + k) * n0 + a) * n1 * n2 + b * n2 + c];
            }
        }
    }
    array[element] += sum;
}
