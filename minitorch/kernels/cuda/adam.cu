// A step of Adam, a thread for each parameter: one pass over the memory.

extern "C" __global__ void adam_step(T* x, const T* gradient, T* m, T* v, T* top, long long count, double beta1,
                                     double beta2, double size, double scale, double eps, double decay, double shrink,
                                     long long amsgrad) {
    long long i = thread_number();
    if (i >= count) return;
    x[i] *= T(shrink);
    T g = decay ? gradient[i] + T(decay) * x[i] : gradient[i];
    m[i] += (g - m[i]) * T(1 - beta1);
    v[i] = v[i] * T(beta2) + g * g * T(1 - beta2);
    if (amsgrad && !(v[i] <= top[i])) top[i] = v[i];  // NaN too
    T largest = amsgrad ? top[i] : v[i];
    x[i] -= m[i] / (sqrt(largest) + T(eps * scale)) * T(size * scale);
}
