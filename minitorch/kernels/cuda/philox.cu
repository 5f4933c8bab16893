// Random words of Philox4x32-10 (Salmon and others 2011), four from each counter. The counter of a thread is the number
// of fours that were drawn before, and the thread's number; the key is the seed.

struct Words {
    unsigned int word[4];
};

__device__ Words philox(unsigned long long step, unsigned long long thread, unsigned long long seed) {
    Words now = {(unsigned int)step, (unsigned int)(step >> 32), (unsigned int)thread, (unsigned int)(thread >> 32)};
    unsigned int low = (unsigned int)seed, high = (unsigned int)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        unsigned long long first = 0xD2511F53ULL * now.word[0], second = 0xCD9E8D57ULL * now.word[2];
        now = {(unsigned int)(second >> 32) ^ now.word[1] ^ low, (unsigned int)second,
               (unsigned int)(first >> 32) ^ now.word[3] ^ high, (unsigned int)first};
        low += 0x9E3779B9;
        high += 0xBB67AE85;
    }
    return now;
}

// words[piece, k, thread] = word k of what the thread draws for this piece
extern "C" __global__ void draw_words(unsigned int* words, long long seed, long long step, long long pieces,
                                      long long threads) {
    long long number = thread_number();
    if (number >= pieces * threads) return;
    long long piece = number / threads, thread = number % threads;
    Words drawn = philox(step + piece, thread, seed);
    for (int k = 0; k < 4; k++) words[(piece * 4 + k) * threads + thread] = drawn.word[k];
}

// words = the next word of each of the threads `who`, which have drawn so many words since the step `first`; one more now
extern "C" __global__ void next_words(unsigned int* words, long long* drawn, const long long* who, long long seed,
                                      long long first, long long count) {
    long long number = thread_number();
    if (number >= count) return;
    long long position = drawn[who[number]]++;
    words[number] = philox(first + position / 4, who[number], seed).word[position % 4];
}

// What four words make: numbers in (0, 1], or normal ones by Box and Muller's method.
template <typename N>
struct Standard {  // of another type than float and double, nothing
    static const int COUNT = 1;
    __device__ static void make(Words drawn, bool normal, N* numbers) {}
};

template <>
struct Standard<float> {
    static const int COUNT = 4;
    __device__ static float uniform(unsigned int word) { return word * 2.3283064e-10f + 2.3283064e-10f / 2; }
    __device__ static void make(Words drawn, bool normal, float* numbers) {
        const float TURN = 2.3283064e-10f * 6.2831855f;
        for (int k = 0; k < 4; k++) numbers[k] = uniform(drawn.word[k]);
        for (int k = 0; normal && k < 4; k += 2) {
            float radius = sqrt(-2.0f * log(numbers[k]));
            __sincosf(fma(float(drawn.word[k + 1]), TURN, TURN / 2), &numbers[k], &numbers[k + 1]);
            numbers[k] *= radius;
            numbers[k + 1] *= radius;
        }
    }
};

template <>
struct Standard<double> {
    static const int COUNT = 2;
    __device__ static double bits(Words drawn, int k) {  // 53 of them
        return drawn.word[k] ^ (unsigned long long)drawn.word[k + 1] << 21;
    }
    __device__ static void make(Words drawn, bool normal, double* numbers) {
        const double INVERSE = 1.1102230246251565e-16;
        for (int k = 0; k < 2; k++) numbers[k] = bits(drawn, 2 * k) * INVERSE + INVERSE / 2;
        if (!normal) return;
        double radius = sqrt(-2.0 * log(numbers[0]));
        sincospi(bits(drawn, 2) * (2 * INVERSE) + INVERSE, &numbers[0], &numbers[1]);
        numbers[0] *= radius;
        numbers[1] *= radius;
    }
};

// The numbers that the threads draw in each piece belong to elements `threads` apart.
extern "C" __global__ void draw_numbers(T* numbers, long long normal, long long seed, long long first, long long pieces,
                                        long long threads, long long count) {
    long long number = thread_number();
    if (number >= pieces * threads) return;
    long long piece = number / threads, thread = number % threads;
    T made[Standard<T>::COUNT];
    Standard<T>::make(philox(first + piece, thread, seed), normal, made);
    for (int k = 0; k < Standard<T>::COUNT; k++) {
        long long element = (piece * Standard<T>::COUNT + k) * threads + thread;
        if (element < count) numbers[element] = made[k];
    }
}

// noise = 1 / keep with probability keep, else 0. A thread draws for so many neighbours `together`: with 8 all words of
// two steps, with 2 the first two of a step. With 1, its words are for elements `threads` apart.
extern "C" __global__ void draw_noise(T* noise, double keep, long long seed, long long first, long long steps,
                                      long long threads, long long together, long long count) {
    long long number = thread_number();
    if (number >= steps * threads) return;
    long long step = number / threads, thread = number % threads, halves = together > 4 ? together / 4 : 1;
    Words drawn = philox(first + step, thread, seed);
    for (int k = 0; k < (together == 2 ? 2 : 4); k++) {
        long long group = step / halves * threads + thread;
        long long element = together > 1 ? group * together + step % halves * 4 + k : (step * 4 + k) * threads + thread;
        T uniform = Standard<float>::uniform(drawn.word[k]);
        if (element < count) noise[element] = uniform < T(keep) ? T(1.0 / T(keep)) : T(0);
    }
}
