// Adding rows into the places that an index names, a thread for each element. A place that is named several times gets
// all of its rows: atomic additions wait for each other. Their order is not fixed, so neither are the last digits.

template <typename N>
__device__ void add_to(N* place, N value) {
    atomicAdd(place, value);
}

template <>
__device__ void add_to(long long* place, long long value) {  // the bits of a sum are the same with and without a sign
    atomicAdd((unsigned long long*)place, (unsigned long long)value);
}

// target[o, places[i], j] += values[o, i, j] for a target (outer, size, width) and values (outer, rows, width)
extern "C" __global__ void add_rows(T* target, const long long* places, const T* values, long long count,
                                    long long rows, long long size, long long width) {
    long long element = thread_number();
    if (element >= count) return;
    long long j = element % width, i = element / width % rows, o = element / width / rows;
    add_to(target + (o * size + places[i]) * width + j, values[element]);
}
