// Runs a kernel in CUDA C++ on the CPU: block after block, the threads of a block by turns, each up to its next
// __syncthreads. A block whose threads don't all arrive there is an error, as it would hang or worse on a GPU.

#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <ucontext.h>
#include <utility>
#include <vector>

using std::exp;
using std::fma;
using std::log;
using std::sqrt;

inline void __sincosf(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
inline void sincospi(double x, double* sine, double* cosine) { sincos(M_PI * x, sine, cosine); }

#define __global__
#define __device__
#define __shared__ static

struct Dim {
    unsigned int x;
};
static Dim threadIdx, blockIdx, gridDim;

template <typename N>
N atomicAdd(N* place, N value) {
    N before = *place;
    *place += value;
    return before;
}

namespace host {

const int COUNT = 256, STACK = 1 << 15;
static ucontext_t scheduler, thread[COUNT];
static bool ended[COUNT];
static std::function<void()> body;

static void start() {
    body();
    ended[threadIdx.x] = true;
    swapcontext(&thread[threadIdx.x], &scheduler);
}

static bool run_block() {
    static std::vector<char> stacks(COUNT * STACK);
    for (int i = 0; i < COUNT; i++) {
        getcontext(&thread[i]);
        thread[i].uc_stack.ss_sp = stacks.data() + i * STACK;
        thread[i].uc_stack.ss_size = STACK;
        makecontext(&thread[i], start, 0);
        ended[i] = false;
    }
    for (int left = COUNT; left == COUNT;) {
        left = 0;
        for (int i = 0; i < COUNT; i++) {
            int turn = i * 77 % COUNT;  // in an order that hides neither of two neighbours that write to one place
            threadIdx.x = turn;
            swapcontext(&scheduler, &thread[turn]);
            left += !ended[turn];
        }
        if (left && left != COUNT) return false;
    }
    return true;
}

template <typename... A, std::size_t... I>
bool run(void (*kernel)(A...), unsigned int blocks, void** args, std::index_sequence<I...>) {
    body = [=] { kernel(*(std::remove_cv_t<A>*)args[I]...); };
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
        if (!run_block()) return false;
    return true;
}

template <typename... A>
bool run(void (*kernel)(A...), unsigned int blocks, void** args) {
    return run(kernel, blocks, args, std::index_sequence_for<A...>());
}

// A letter for each parameter: a pointer, a long long, a double.
template <typename... A>
std::string letters(void (*)(A...)) {
    return {(std::is_pointer_v<A> ? 'P' : std::is_same_v<A, long long> ? 'l' : std::is_same_v<A, double> ? 'd' : '?')...};
}

}  // namespace host

#define __syncthreads() swapcontext(&host::thread[threadIdx.x], &host::scheduler)
