/* The calls of compiled gradients from Python.
 *
 * One library serves all gradients. `make_callable` returns a built-in function for a description.
 * The function checks its arguments, makes the result arrays, runs the gradient and packs the
 * results. It returns NotImplemented for arguments that the description does not fit.
 *
 * No header of Python or NumPy is needed. `initialise` takes the addresses of all that is used, in
 * the order of `struct Python`. HEAD_BYTES, the size of an object's head, is defined above. The
 * text is compiled with the printed gradients' flags, so it uses no function of the C library.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Python and NumPy */

/* The type is the last field of the head, in builds with and without the global lock. */
typedef struct {
    unsigned char before[HEAD_BYTES - sizeof(void *)];
    const void *type;
} Object;

typedef struct {
    Object head;
    Object *scalar_type;
    char kind, letter, byte_order, former_flags;
    int type_number;
} Descriptor;

typedef struct {
    Object head;
    char *data;
    int rank;
    intptr_t *shape, *strides;
    Object *base;
    Descriptor *descriptor;
    int flags;
} Array;

enum { C_CONTIGUOUS = 0x1, ALIGNED = 0x100 };

typedef Object *FastCall(Object *self, Object *const *arguments, intptr_t count);

typedef struct {
    const char *name;
    FastCall *call;
    int flags;
    const char *doc;
} Method;

enum { METH_FASTCALL = 0x80 };

typedef void Cblas_f32_64(int order, int ta, int tb, int64_t m, int64_t n, int64_t k, float alpha,
                          const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                          float *c, int64_t ldc);
typedef void Cblas_f64_64(int order, int ta, int tb, int64_t m, int64_t n, int64_t k, double alpha,
                          const double *a, int64_t lda, const double *b, int64_t ldb, double beta,
                          double *c, int64_t ldc);
typedef void Cblas_f32_32(int order, int ta, int tb, int m, int n, int k, float alpha,
                          const float *a, int lda, const float *b, int ldb, float beta,
                          float *c, int ldc);
typedef void Cblas_f64_32(int order, int ta, int tb, int m, int n, int k, double alpha,
                          const double *a, int lda, const double *b, int ldb, double beta,
                          double *c, int ldc);

/* The seconds of a clock are `long`, as in `struct timespec` of 64-bit systems. */
typedef struct {
    int64_t seconds;
    long nanoseconds;
} Time;

static struct Python {
    const void *array_type, *float_type, *int_type, *tensor_type;
    Object *not_implemented, *true_object, *empty_tuple;
    Object *(*new_array)(const void *type, int rank, const intptr_t *shape, int type_number,
                         const intptr_t *strides, void *data, int item_bytes, int flags,
                         Object *like);
    Object *(*new_scalar)(void *data, Descriptor *descriptor, Object *base);
    double (*float_as_double)(Object *);
    Object *(*float_from_double)(double);
    long long (*int_as_long_long)(Object *, int *overflow);
    Object *(*int_from_long_long)(long long);
    Object *(*bool_from_long)(long);
    Object *(*tuple_new)(intptr_t);
    int (*tuple_set_item)(Object *, intptr_t, Object *);
    Object *(*tuple_get_item)(Object *, intptr_t);
    intptr_t (*tuple_size)(Object *);
    Object *(*call_object)(Object *, Object *);
    void (*increment)(Object *);
    void (*decrement)(Object *);
    Object *(*capsule_new)(void *, const char *, void (*)(Object *));
    void *(*capsule_pointer)(Object *, const char *);
    Object *(*function_new)(Method *, Object *self, Object *module);
    void *(*allocate)(size_t);
    void *(*reallocate)(void *, size_t);
    void (*release)(void *);
    int (*check_signals)(void);
    Object *(*error_occurred)(void);
    Object *(*no_memory)(void);
    Object *(*new_object)(const void *type, intptr_t items);
    void *(*save_thread)(void);
    void (*restore_thread)(void *);
    int (*clock)(int, Time *);       /* clock_gettime, or NULL */
    uint64_t (*tick_count)(void);    /* milliseconds on Windows, or NULL */
    void *product_f32, *product_f64; /* cblas_sgemm and cblas_dgemm, or NULL */
    intptr_t products_are_64_bit;
    intptr_t clock_number;
    intptr_t data_offset, hooks_offset; /* of the slots of a Tensor */
} py;

static Object *not_implemented(void) {
    py.increment(py.not_implemented);
    return py.not_implemented;
}

/* ---- the description of a gradient; glue.py has the same structures */

enum { ARRAY, FLOAT, INT, BOOL, SCALAR };

/* An input or output. A dimension of -1 - k is the size of number k. */
typedef struct {
    int32_t kind, type_number, rank;
    const void *holder; /* the class of the Tensor or Parameter around an array, or NULL */
    const int64_t *shape;
    Descriptor *descriptor;
} Argument;

typedef struct {
    const char *name;
    int32_t (*entry)(void **);
    /* Computes the sizes from number `symbols` on from those before; not 0: they do not fit. */
    int32_t (*derive_sizes)(int64_t *sizes);
    const Argument *inputs, *outputs;
    const int32_t *packing; /* k: output k; -1 - n: a tuple of the next n */
    Object *repair;         /* tuple of arguments -> tuple of arguments, or False */
    Object *fail;           /* (code, details) raises an exception */
    Object *owner;          /* all that must live as long as the function */
    int64_t input_count, output_count;
    int64_t symbols, sizes;  /* how many sizes are unified, and how many there are */
    int64_t least_size;      /* of a unified size */
    int64_t workspace_bytes; /* -1 - k: the size of number k */
    int64_t needs_services, needs_workspace, is_long, takes_holders;
} Description;

enum { SPARE_WORKSPACES = 4 };

typedef struct {
    void *memory;
    int64_t bytes;
} Workspace;

typedef struct {
    Description about;
    Method method;
    size_t frame_bytes;
    Workspace *spare[SPARE_WORKSPACES]; /* workspaces that no call uses */
} Plan;

/* ---- memory aligned to 64 bytes */

enum { ALIGNMENT = 64 };

/* Stands before each block of `reallocate`. */
typedef struct Block {
    struct Block *next, *previous;
    void *allocation;
    int64_t bytes;
} Block;

static uintptr_t align(uintptr_t address) {
    return (address + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1);
}

static void copy(void *to, const void *from, size_t bytes) { __builtin_memcpy(to, from, bytes); }

/* ---- services */

typedef struct Services Services;
struct Services {
    void *(*reallocate)(const Services *services, void *memory, int64_t bytes);
    int32_t (*poll)(const Services *services);
    void (*product_f32)(const Services *services, int32_t transpose_a, int32_t transpose_b,
                        int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
                        const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
    void (*product_f64)(const Services *services, int32_t transpose_a, int32_t transpose_b,
                        int64_t m, int64_t n, int64_t k, double alpha, const double *a,
                        int64_t lda, const double *b, int64_t ldb, double beta, double *c,
                        int64_t ldc);
    int64_t *details;
};

enum { DETAILS = 4 };

/* The state of one call. Services come first: the gradient sees nothing else. */
typedef struct {
    Services services;
    Block blocks;  /* the head of a ring */
    void *thread;  /* not NULL while the global lock is released */
    int64_t start; /* of the first poll, in microseconds */
    int64_t next_check;
    bool polled, interrupted;
    int64_t details[DETAILS];
} Context;

/* The block begins ALIGNMENT bytes before the memory that the gradient sees. */
static void *reallocate(const Services *services, void *memory, int64_t bytes) {
    Block *head = &((Context *)services)->blocks;
    Block *block = memory ? (Block *)((char *)memory - ALIGNMENT) : NULL;
    void *allocation = NULL;
    ptrdiff_t before = 0;
    int64_t former_bytes = 0;
    if (block) {
        allocation = block->allocation;
        before = (char *)block - (char *)allocation;
        former_bytes = block->bytes;
        if (bytes <= 0) {
            block->previous->next = block->next;
            block->next->previous = block->previous;
            py.release(allocation);
            return NULL;
        }
    }
    if (bytes < 0 || bytes > INTPTR_MAX - 2 * ALIGNMENT) return NULL;
    char *result = py.reallocate(allocation, (size_t)bytes + 2 * ALIGNMENT);
    if (!result) return NULL;
    Block *moved = (Block *)align((uintptr_t)result);
    if (block && (char *)moved - result != before) {
        int64_t content = ALIGNMENT + (former_bytes < bytes ? former_bytes : bytes);
        __builtin_memmove(moved, result + before, (size_t)content);
    }
    if (!block) {
        moved->next = head->next;
        moved->previous = head;
    }
    moved->allocation = result;
    moved->bytes = bytes;
    moved->next->previous = moved->previous->next = moved;
    return (char *)moved + ALIGNMENT;
}

static void release_blocks(Block *head) {
    for (Block *block = head->next, *next; block != head; block = next) {
        next = block->next;
        py.release(block->allocation);
    }
}

/* Returns microseconds, or 0 without a clock. */
static int64_t now(void) {
    Time time;
    if (py.tick_count) return (int64_t)py.tick_count() * 1000;
    if (!py.clock || py.clock((int)py.clock_number, &time)) return 0;
    return time.seconds * 1000000 + time.nanoseconds / 1000;
}

enum { RELEASE_AFTER = 100, CHECK_EVERY = 10000 }; /* microseconds */

/* Runs signal handlers if there are any. Gives up the global lock once the call lasts. */
static int32_t poll(const Services *services) {
    Context *context = (Context *)services;
    if (context->interrupted) return 1;
    int64_t time = now();
    if (!context->polled) {
        context->polled = true;
        context->start = time;
        context->next_check = time + CHECK_EVERY;
        return 0;
    }
    if (!context->thread && time - context->start >= RELEASE_AFTER)
        context->thread = py.save_thread();
    if (time && time < context->next_check) return 0;
    context->next_check = time + CHECK_EVERY;
    if (context->thread) py.restore_thread(context->thread);
    context->interrupted = py.check_signals() != 0;
    if (context->thread) context->thread = py.save_thread();
    return context->interrupted;
}

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

static bool fits_int(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc) {
    return m <= INT32_MAX && n <= INT32_MAX && k <= INT32_MAX && lda <= INT32_MAX &&
           ldb <= INT32_MAX && ldc <= INT32_MAX;
}

/* A product for a BLAS with 64-bit or 32-bit integers; for sizes beyond those, a plain loop. */
#define PRODUCT(NAME, TYPE, CBLAS_64, CBLAS_32, FUNCTION)                                         \
    static void NAME(const Services *services, int32_t transpose_a, int32_t transpose_b,          \
                     int64_t m, int64_t n, int64_t k, TYPE alpha, const TYPE *a, int64_t lda,     \
                     const TYPE *b, int64_t ldb, TYPE beta, TYPE *c, int64_t ldc) {               \
        int ta = transpose_a ? TRANSPOSED : PLAIN, tb = transpose_b ? TRANSPOSED : PLAIN;         \
        (void)services;                                                                           \
        if (py.products_are_64_bit) {                                                             \
            ((CBLAS_64 *)FUNCTION)(ROW_MAJOR, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c,    \
                                   ldc);                                                          \
            return;                                                                               \
        }                                                                                         \
        if (fits_int(m, n, k, lda, ldb, ldc)) {                                                   \
            ((CBLAS_32 *)FUNCTION)(ROW_MAJOR, ta, tb, (int)m, (int)n, (int)k, alpha, a, (int)lda, \
                                   b, (int)ldb, beta, c, (int)ldc);                               \
            return;                                                                               \
        }                                                                                         \
        for (int64_t i = 0; i < m; i++)                                                           \
            for (int64_t j = 0; j < n; j++) {                                                     \
                TYPE sum = 0;                                                                     \
                for (int64_t l = 0; l < k; l++)                                                   \
                    sum += (transpose_a ? a[l * lda + i] : a[i * lda + l]) *                      \
                           (transpose_b ? b[j * ldb + l] : b[l * ldb + j]);                       \
                TYPE *place = c + i * ldc + j;                                                    \
                *place = alpha * sum + (beta == 0 ? 0 : beta * *place);                           \
            }                                                                                     \
    }

PRODUCT(product_f32, float, Cblas_f32_64, Cblas_f32_32, py.product_f32)
PRODUCT(product_f64, double, Cblas_f64_64, Cblas_f64_32, py.product_f64)

static void begin(Context *context) {
    context->services = (Services){
        .reallocate = reallocate,
        .poll = poll,
        .product_f32 = py.product_f32 ? product_f32 : NULL,
        .product_f64 = py.product_f64 ? product_f64 : NULL,
        .details = context->details,
    };
    context->blocks.next = context->blocks.previous = &context->blocks;
    context->polled = false;
    for (int k = 0; k < DETAILS; k++) context->details[k] = 0;
}

/* ---- workspaces */

static void free_workspace(Workspace *workspace) {
    if (!workspace) return;
    py.release(workspace->memory);
    py.release(workspace);
}

/* Returns a workspace that no other call uses, or NULL. */
static Workspace *take_workspace(Plan *plan, int64_t bytes) {
    for (int k = 0; k < SPARE_WORKSPACES; k++) {
        if (!__atomic_load_n(&plan->spare[k], __ATOMIC_RELAXED)) continue;
        Workspace *spare = __atomic_exchange_n(&plan->spare[k], NULL, __ATOMIC_ACQ_REL);
        if (spare && spare->bytes >= bytes) return spare;
        free_workspace(spare);
    }
    if (bytes > INTPTR_MAX - ALIGNMENT) return NULL;
    Workspace *workspace = py.allocate(sizeof *workspace);
    if (!workspace) return NULL;
    workspace->bytes = bytes;
    workspace->memory = py.allocate((size_t)bytes + ALIGNMENT);
    if (workspace->memory) return workspace;
    free_workspace(workspace);
    return NULL;
}

static void give_back_workspace(Plan *plan, Workspace *workspace) {
    for (int k = 0; k < SPARE_WORKSPACES; k++) {
        if (__atomic_load_n(&plan->spare[k], __ATOMIC_RELAXED)) continue;
        workspace = __atomic_exchange_n(&plan->spare[k], workspace, __ATOMIC_ACQ_REL);
        if (!workspace) return;
    }
    free_workspace(workspace);
}

/* ---- arguments */

typedef union {
    double as_float;
    int64_t as_int;
    bool as_bool;
    unsigned char bytes[16];
} Number;

/* The variables of a call whose number depends on the description. */
typedef struct {
    void **pointers;
    Object **results;
    Object **held;   /* the arrays of Tensors: another thread may replace them */
    Number *numbers; /* of the inputs, then of the outputs */
    int64_t *sizes;
} Frame;

static size_t frame_bytes(const Description *about) {
    int64_t ends = about->input_count + about->output_count;
    return (size_t)((ends + about->symbols + 2) * (int64_t)sizeof(void *) +
                    (ends + 2) * (int64_t)sizeof(Object *) +
                    (ends + 1) * (int64_t)sizeof(Number) +
                    (about->sizes + 1) * (int64_t)sizeof(int64_t));
}

static Frame lay_out(const Description *about, void *memory) {
    int64_t ends = about->input_count + about->output_count;
    Frame frame;
    frame.numbers = memory;
    frame.sizes = (int64_t *)(frame.numbers + ends + 1);
    frame.pointers = (void **)(frame.sizes + about->sizes + 1);
    frame.results = (Object **)(frame.pointers + ends + about->symbols + 2);
    frame.held = frame.results + about->output_count + 1;
    return frame;
}

static bool shape_fits(const Description *about, const Argument *input, const Array *array,
                       int64_t *sizes) {
    for (int32_t axis = 0; axis < input->rank; axis++) {
        int64_t wanted = input->shape[axis], size = array->shape[axis];
        if (wanted >= 0) {
            if (size != wanted) return false;
        } else {
            int64_t *symbol = sizes + (-1 - wanted);
            if (*symbol < 0) *symbol = size;
            if (*symbol != size || size < about->least_size) return false;
        }
    }
    return true;
}

static Object **slot(Object *object, intptr_t offset) {
    return (Object **)((char *)object + offset);
}

/* Returns the array in an object of this class without hooks, with a reference, or NULL. */
static Object *hold_array(Object *object, const void *holder) {
    if (object->type != holder) return NULL;
    if (*slot(object, py.hooks_offset) != py.empty_tuple) return NULL;
    Object *array = *slot(object, py.data_offset);
    if (array) py.increment(array);
    return array;
}

static bool read_array(const Description *about, const Argument *input, Object *object,
                       Frame *frame, int64_t place) {
    if (input->holder) object = frame->held[place] = hold_array(object, input->holder);
    if (!object || object->type != py.array_type) return false;
    const Array *array = (const Array *)object;
    const Descriptor *descriptor = array->descriptor;
    if (descriptor != input->descriptor &&
        (descriptor->type_number != input->type_number ||
         (descriptor->byte_order != '=' && descriptor->byte_order != '|')))
        return false;
    if (array->rank != input->rank) return false;
    if ((~array->flags & (C_CONTIGUOUS | ALIGNED)) != 0) return false;
    frame->pointers[place] = array->data;
    return shape_fits(about, input, array, frame->sizes);
}

static bool read_number(const Argument *input, Object *object, Number *number) {
    int overflow = 0;
    switch (input->kind) {
    case FLOAT:
        if (object->type != py.float_type) return false;
        number->as_float = py.float_as_double(object);
        return true;
    case INT:
        if (object->type != py.int_type) return false;
        number->as_int = py.int_as_long_long(object, &overflow);
        return !overflow;
    default:
        if (object->type != py.true_object->type) return false;
        number->as_bool = object == py.true_object;
        return true;
    }
}

static bool read_arguments(const Description *about, Object *const *arguments, Frame *frame) {
    for (int64_t k = 0; k < about->symbols; k++) frame->sizes[k] = -1;
    for (int64_t k = 0; k < about->input_count; k++) frame->held[k] = NULL;
    for (int64_t k = 0; k < about->input_count; k++) {
        const Argument *input = about->inputs + k;
        if (input->kind == ARRAY) {
            if (!read_array(about, input, arguments[k], frame, k)) return false;
        } else {
            frame->pointers[k] = frame->numbers + k;
            if (!read_number(input, arguments[k], frame->numbers + k)) return false;
        }
    }
    for (int64_t k = 0; k < about->symbols; k++)
        frame->pointers[about->input_count + k] = frame->sizes + k;
    return !about->derive_sizes || about->derive_sizes(frame->sizes) == 0;
}

/* ---- results */

enum { MOST_AXES = 64 };

static bool make_results(const Description *about, Frame *frame) {
    void **pointers = frame->pointers + about->input_count + about->symbols;
    intptr_t shape[MOST_AXES];
    for (int64_t k = 0; k < about->output_count; k++) frame->results[k] = NULL;
    for (int64_t k = 0; k < about->output_count; k++) {
        const Argument *output = about->outputs + k;
        if (output->kind != ARRAY) {
            pointers[k] = frame->numbers + about->input_count + k;
            continue;
        }
        for (int32_t axis = 0; axis < output->rank; axis++) {
            int64_t size = output->shape[axis];
            shape[axis] = (intptr_t)(size >= 0 ? size : frame->sizes[-1 - size]);
        }
        Object *array = py.new_array(py.array_type, output->rank, shape, output->type_number,
                                     NULL, NULL, 0, 0, NULL);
        if (!array) return false;
        frame->results[k] = array;
        pointers[k] = ((Array *)array)->data;
    }
    return true;
}

static Object *make_number(const Argument *output, Number *number) {
    switch (output->kind) {
    case FLOAT: return py.float_from_double(number->as_float);
    case INT: return py.int_from_long_long(number->as_int);
    case BOOL: return py.bool_from_long(number->as_bool);
    default: return py.new_scalar(number, output->descriptor, NULL);
    }
}

static bool make_numbers(const Description *about, Frame *frame) {
    for (int64_t k = 0; k < about->output_count; k++) {
        if (frame->results[k]) continue;
        frame->results[k] =
            make_number(about->outputs + k, frame->numbers + about->input_count + k);
        if (!frame->results[k]) return false;
    }
    return true;
}

/* Returns a Tensor of an array. It takes over the reference. */
static Object *make_tensor(Object *array) {
    Object *tensor = py.new_object(py.tensor_type, 0);
    if (!tensor) {
        py.decrement(array);
        return NULL;
    }
    py.increment(py.empty_tuple);
    *slot(tensor, py.hooks_offset) = py.empty_tuple;
    *slot(tensor, py.data_offset) = array;
    return tensor;
}

/* Returns the results as the description packs them. It takes over the references. */
static Object *pack(const Description *about, const int32_t **packing, Object **results) {
    int32_t what = *(*packing)++;
    if (what >= 0) {
        Object *result = results[what];
        results[what] = NULL;
        return about->outputs[what].holder ? make_tensor(result) : result;
    }
    Object *tuple = py.tuple_new(-1 - what);
    for (int32_t k = 0; tuple && k < -1 - what; k++) {
        Object *item = pack(about, packing, results);
        if (!item || py.tuple_set_item(tuple, k, item)) {
            py.decrement(tuple);
            return NULL;
        }
    }
    return tuple;
}

static void drop(Object **objects, int64_t count) {
    for (int64_t k = 0; k < count; k++)
        if (objects[k]) py.decrement(objects[k]);
}

/* ---- calls */

enum { OUT_OF_MEMORY = 1, INTERRUPTED = 2 };

static void raise(const Description *about, int32_t code, const Context *context) {
    if (code == OUT_OF_MEMORY) {
        py.no_memory();
        return;
    }
    Object *arguments = py.tuple_new(1 + DETAILS);
    if (!arguments) return;
    for (int k = 0; k <= DETAILS; k++) {
        bool has_details = k > 0 && about->needs_services;
        Object *item = py.int_from_long_long(k == 0       ? code
                                             : has_details ? context->details[k - 1]
                                                           : 0);
        if (!item || py.tuple_set_item(arguments, k, item)) {
            py.decrement(arguments);
            return;
        }
    }
    Object *result = py.call_object(about->fail, arguments);
    if (result) py.decrement(result);
    py.decrement(arguments);
}

/* Runs the gradient. Returns true if it has filled the results, else an exception is set. */
static bool enter(Plan *plan, Frame *frame) {
    const Description *about = &plan->about;
    Context context;
    Workspace *workspace = NULL;
    void **pointers = frame->pointers + about->input_count + about->symbols + about->output_count;
    context.thread = NULL;
    context.interrupted = false;
    if (about->needs_services) {
        begin(&context);
        *pointers++ = &context.services;
    }
    if (about->needs_workspace) {
        int64_t bytes = about->workspace_bytes;
        workspace = take_workspace(plan, bytes >= 0 ? bytes : frame->sizes[-1 - bytes]);
        if (!workspace) {
            py.no_memory();
            return false;
        }
        *pointers++ = (void *)align((uintptr_t)workspace->memory);
    }
    if (about->is_long) context.thread = py.save_thread();
    int32_t code = about->entry(frame->pointers);
    if (context.thread) py.restore_thread(context.thread);
    if (workspace) give_back_workspace(plan, workspace);
    if (about->needs_services) release_blocks(&context.blocks);
    if (context.interrupted) return false;
    if (code) raise(about, code, &context);
    return code == 0;
}

/* Returns the results, NULL with an exception, or NotImplemented. */
static Object *run_in(Plan *plan, Object *const *arguments, void *memory) {
    const Description *about = &plan->about;
    Frame frame = lay_out(about, memory);
    Object *result = NULL;
    if (!read_arguments(about, arguments, &frame)) {
        if (!py.error_occurred()) result = not_implemented();
    } else {
        if (make_results(about, &frame) && enter(plan, &frame) && make_numbers(about, &frame)) {
            const int32_t *packing = about->packing;
            result = pack(about, &packing, frame.results);
        }
        if (!result) drop(frame.results, about->output_count);
    }
    if (about->takes_holders) drop(frame.held, about->input_count);
    return result;
}

enum { LARGE_FRAME = 8192 };

static Object *run(Plan *plan, Object *const *arguments, intptr_t count) {
    if (count != plan->about.input_count) return not_implemented();
    if (plan->frame_bytes <= LARGE_FRAME) {
        _Alignas(16) unsigned char memory[plan->frame_bytes];
        return run_in(plan, arguments, memory);
    }
    void *memory = py.allocate(plan->frame_bytes);
    if (!memory) return py.no_memory();
    Object *result = run_in(plan, arguments, memory);
    py.release(memory);
    return result;
}

/* Runs the gradient for copies of arguments whose layout does not fit. */
static __attribute__((noinline)) Object *run_repaired(Plan *plan, Object *const *arguments,
                                                      intptr_t count) {
    Object *result = NULL, *tuple = py.tuple_new(count);
    for (intptr_t k = 0; tuple && k < count; k++) {
        py.increment(arguments[k]);
        if (py.tuple_set_item(tuple, k, arguments[k])) return NULL;
    }
    Object *call = tuple ? py.tuple_new(1) : NULL;
    if (!call || py.tuple_set_item(call, 0, tuple)) return NULL;
    const void *tuple_type = call->type;
    Object *repaired = py.call_object(plan->about.repair, call);
    py.decrement(call);
    if (!repaired) return NULL;
    if (repaired->type != tuple_type) {
        result = not_implemented();
    } else {
        intptr_t items = py.tuple_size(repaired);
        Object *copies[items + 1];
        for (intptr_t k = 0; k < items; k++) copies[k] = py.tuple_get_item(repaired, k);
        result = run(plan, copies, items);
    }
    py.decrement(repaired);
    return result;
}

static Object *call(Object *self, Object *const *arguments, intptr_t count) {
    Plan *plan = py.capsule_pointer(self, NULL);
    if (!plan) return NULL;
    Object *result = run(plan, arguments, count);
    if (result != py.not_implemented || count != plan->about.input_count) return result;
    py.decrement(result);
    return run_repaired(plan, arguments, count);
}

static void free_plan(Object *capsule) {
    Plan *plan = py.capsule_pointer(capsule, NULL);
    if (!plan) return;
    for (int k = 0; k < SPARE_WORKSPACES; k++) free_workspace(plan->spare[k]);
    py.decrement(plan->about.owner);
    py.release(plan);
}

/* ---- entry points for glue.py */

__attribute__((visibility("default"))) int64_t initialise(const void *addresses, int64_t bytes) {
    if (bytes != (int64_t)sizeof py) return (int64_t)sizeof py;
    copy(&py, addresses, sizeof py);
    return 0;
}

__attribute__((visibility("default"))) Object *make_callable(const Description *about) {
    Plan *plan = py.allocate(sizeof *plan);
    if (!plan) return py.no_memory();
    plan->about = *about;
    plan->method = (Method){about->name, call, METH_FASTCALL, NULL};
    plan->frame_bytes = frame_bytes(about);
    for (int k = 0; k < SPARE_WORKSPACES; k++) plan->spare[k] = NULL;
    Object *capsule = py.capsule_new(plan, NULL, free_plan);
    if (!capsule) {
        py.release(plan);
        return NULL;
    }
    py.increment(about->owner);
    Object *function = py.function_new(&plan->method, capsule, NULL);
    py.decrement(capsule);
    return function;
}
