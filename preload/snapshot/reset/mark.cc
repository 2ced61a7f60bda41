#include "preload/snapshot/reset/mark.h"

#include <cstddef>

#if defined(__x86_64__)
static_assert(offsetof(filibuster::preload::reset::Mark, mxcsr) == 64 &&
              offsetof(filibuster::preload::reset::Mark, x87) == 68);
__asm__(R"(
    .text
    .globl filibuster_make_mark
    .hidden filibuster_make_mark
    .type filibuster_make_mark, @function
    .p2align 4
filibuster_make_mark:
    .cfi_startproc
    endbr64
    movq %rbx, 0(%rdi)
    movq %rbp, 8(%rdi)
    movq %r12, 16(%rdi)
    movq %r13, 24(%rdi)
    movq %r14, 32(%rdi)
    movq %r15, 40(%rdi)
    leaq 8(%rsp), %rax              # as it is for the caller
    movq %rax, 48(%rdi)
    movq (%rsp), %rax
    movq %rax, 56(%rdi)
    stmxcsr 64(%rdi)
    fnstcw 68(%rdi)
    movq %rdx, %r8                  # a system call keeps these two
    movq %rcx, %r9
    movl $0x8011, %edi              # CLONE_PARENT | SIGCHLD
    xorl %edx, %edx
    xorl %r10d, %r10d
    movl $56, %eax                  # SYS_clone
    syscall
    testq %rax, %rax
    jz 1f
    ret
1:  movq %r9, %rdi                  # the sibling
    xorl %ebp, %ebp
    call *%r8
    ud2
    .cfi_endproc
    .size filibuster_make_mark, .-filibuster_make_mark

    .globl filibuster_go_back
    .hidden filibuster_go_back
    .type filibuster_go_back, @function
    .p2align 4
filibuster_go_back:
    endbr64
    movq 0(%rdi), %rbx
    movq 8(%rdi), %rbp
    movq 16(%rdi), %r12
    movq 24(%rdi), %r13
    movq 32(%rdi), %r14
    movq 40(%rdi), %r15
    movq 48(%rdi), %rsp
    ldmxcsr 64(%rdi)
    fnclex
    fldcw 68(%rdi)
    cld
    xorl %eax, %eax
    jmp *56(%rdi)
    .size filibuster_go_back, .-filibuster_go_back

    .globl filibuster_on_stack
    .hidden filibuster_on_stack
    .type filibuster_on_stack, @function
    .p2align 4
filibuster_on_stack:
    endbr64
    movq %rdi, %rsp
    xorl %ebp, %ebp
    movq %rdx, %rdi
    call *%rsi
    ud2
    .size filibuster_on_stack, .-filibuster_on_stack
)");
#endif
