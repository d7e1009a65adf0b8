/* shapes: over which operand kinds a family of handlers is replicated.
 *
 * SHAPE_EACH_<shape>(X, name, args) expands X(name, first, second, third, args) once for each member, the last operand
 * kind varying fastest. A member's function is run_op_<name>_<first>_<second>_<third>; places that a shape does not
 * have hold `n`. Changing the number of registers means changing EACH_R or EACH_F here, the signature in run/handler.h
 * and the two counts.
 */
#ifndef GLASSBOX_VM_CODE_SHAPES_H
#define GLASSBOX_VM_CODE_SHAPES_H

#define INTEGER_REGISTERS 5
#define FLOAT_REGISTERS 6

/* Each of a kind. ## pastes; Y is called with whatever has been collected so far. */
#define EACH_R(Y, X, name, args) \
    Y(X, name, args, 0) Y(X, name, args, 1) Y(X, name, args, 2) Y(X, name, args, 3) Y(X, name, args, 4)
#define EACH_F(Y, X, name, args) EACH_R(Y, X, name, args) Y(X, name, args, 5)
#define EACH_RS(Y, X, name, args) EACH_R(Y, X, name, args) Y(X, name, args, S)

#define THEN_R(X, name, args, i) \
    X(name, i, 0, n, args) X(name, i, 1, n, args) X(name, i, 2, n, args) X(name, i, 3, n, args) X(name, i, 4, n, args)
#define THEN_RS(X, name, args, i) THEN_R(X, name, args, i) X(name, i, S, n, args)
#define THEN_RI(X, name, args, i) THEN_R(X, name, args, i) X(name, i, I, n, args)
#define THEN_RSI(X, name, args, i) THEN_RS(X, name, args, i) X(name, i, I, n, args)
#define THEN_F(X, name, args, i) THEN_R(X, name, args, i) X(name, i, 5, n, args)
#define THEN_FS(X, name, args, i) THEN_F(X, name, args, i) X(name, i, S, n, args)
#define THEN_NONE(X, name, args, i) X(name, i, n, n, args)

#define LAST_R(X, name, args, i, j) \
    X(name, i, j, 0, args) X(name, i, j, 1, args) X(name, i, j, 2, args) X(name, i, j, 3, args) X(name, i, j, 4, args)
#define THEN_R_R(X, name, args, i) \
    LAST_R(X, name, args, i, 0)    \
    LAST_R(X, name, args, i, 1) LAST_R(X, name, args, i, 2) LAST_R(X, name, args, i, 3) LAST_R(X, name, args, i, 4)
#define THEN_F_R(X, name, args, i) THEN_R_R(X, name, args, i) LAST_R(X, name, args, i, 5)

#define SHAPE_EACH_ONE(X, name, args) X(name, n, n, n, args)
#define SHAPE_EACH_R(X, name, args) EACH_R(THEN_NONE, X, name, args)
#define SHAPE_EACH_F(X, name, args) EACH_F(THEN_NONE, X, name, args)
#define SHAPE_EACH_R_R(X, name, args) EACH_R(THEN_R, X, name, args)
#define SHAPE_EACH_R_RS(X, name, args) EACH_R(THEN_RS, X, name, args)
#define SHAPE_EACH_R_RSI(X, name, args) EACH_R(THEN_RSI, X, name, args)
#define SHAPE_EACH_R_F(X, name, args) EACH_R(THEN_F, X, name, args)
#define SHAPE_EACH_RS_RI(X, name, args) EACH_RS(THEN_RI, X, name, args)
#define SHAPE_EACH_RS_F(X, name, args) EACH_RS(THEN_F, X, name, args)
#define SHAPE_EACH_F_R(X, name, args) EACH_F(THEN_R, X, name, args)
#define SHAPE_EACH_F_RS(X, name, args) EACH_F(THEN_RS, X, name, args)
#define SHAPE_EACH_F_F(X, name, args) EACH_F(THEN_F, X, name, args)
#define SHAPE_EACH_F_FS(X, name, args) EACH_F(THEN_FS, X, name, args)
#define SHAPE_EACH_R_R_R(X, name, args) EACH_R(THEN_R_R, X, name, args)
#define SHAPE_EACH_F_F_R(X, name, args) EACH_F(THEN_F_R, X, name, args)

/* How many members. */
#define COUNT_R INTEGER_REGISTERS
#define COUNT_RS (COUNT_R + 1)
#define COUNT_RI (COUNT_R + 1)
#define COUNT_RSI (COUNT_R + 2)
#define COUNT_F FLOAT_REGISTERS
#define COUNT_FS (COUNT_F + 1)
#define SHAPE_COUNT_ONE 1
#define SHAPE_COUNT_R COUNT_R
#define SHAPE_COUNT_F COUNT_F
#define SHAPE_COUNT_R_R (COUNT_R * COUNT_R)
#define SHAPE_COUNT_R_RS (COUNT_R * COUNT_RS)
#define SHAPE_COUNT_R_RSI (COUNT_R * COUNT_RSI)
#define SHAPE_COUNT_R_F (COUNT_R * COUNT_F)
#define SHAPE_COUNT_RS_RI (COUNT_RS * COUNT_RI)
#define SHAPE_COUNT_RS_F (COUNT_RS * COUNT_F)
#define SHAPE_COUNT_F_R (COUNT_F * COUNT_R)
#define SHAPE_COUNT_F_RS (COUNT_F * COUNT_RS)
#define SHAPE_COUNT_F_F (COUNT_F * COUNT_F)
#define SHAPE_COUNT_F_FS (COUNT_F * COUNT_FS)
#define SHAPE_COUNT_R_R_R (COUNT_R * COUNT_R * COUNT_R)
#define SHAPE_COUNT_F_F_R (COUNT_F * COUNT_F * COUNT_R)

#endif
