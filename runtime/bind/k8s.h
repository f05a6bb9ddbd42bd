/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_BIND_K8S_H
#define AICR_BIND_K8S_H

#include <lua.h>
#include <stdbool.h>

#include "host/host.h"

/* What the files of aicr.native.k8s share. */

/* What a call is to find out, for who reads the verdict (k8s_look.c). */
struct aicr_k8s_look {
  char what[256];  /* "nodes with the label a=b" */
  bool own;        /* the check itself asks, not a library */
  bool by_the_way; /* that nothing is there says nothing */
  bool aside;      /* a replay does not ask it: what it shows counts nowhere */
  bool found;      /* something came */
};

/* Notes that a call begins, whose spec it is. `L` runs what asks.
 *                                                              [-0, +0, -] */
void aicr_k8s_look_begin(lua_State *L, struct aicr_task *t,
                         struct aicr_k8s_look *look,
                         const struct kube_call_spec *spec);

/* Notes that something came, that the answer was whole and held nothing, or
 * that there is none. */
void aicr_k8s_look_found(struct aicr_task *t, struct aicr_k8s_look *look);
void aicr_k8s_look_empty(struct aicr_task *t, const struct aicr_k8s_look *look);
void aicr_k8s_look_failed(struct aicr_task *t, const struct aicr_k8s_look *look,
                          const struct aicr_error *err);

/* A call that a userdata owns. */
struct aicr_k8s_box {
  struct kube_call *call; /* NULL once closed */
  struct aicr_k8s_look look;
  bool gives_version; /* of a list: a second result, for a watch */
  bool is_text;       /* its items are lines */
};

/* The task that may ask a cluster now; raises otherwise. `what` names the
 * method.                                                      [-0, +0, v] */
struct aicr_task *aicr_k8s_task(lua_State *L, const char *what);

/* t[field] of the table at `opts` as a string without NUL, or NULL; it stays on
 * the stack.                                                   [-0, +1, v] */
const char *aicr_k8s_option(lua_State *L, int opts, const char *field);

/* Starts the call of *spec in a box that is left on the top. A free one needs
 * no permission of the check.                                  [-0, +1, v] */
struct aicr_k8s_box *aicr_k8s_start(lua_State *L, struct aicr_task *t,
                                    struct kube_call_spec *spec, bool is_free);

/* Waits for news of the call; goes on in k.                    [yields] */
int aicr_k8s_wait(lua_State *L, struct aicr_task *t, struct aicr_k8s_box *box,
                  lua_KFunction k);

/* Same with a box and, above it, a value on the top, which come to the indices
 * 2 and 1: above two arguments at least. What ends this wait ends the call.
 *                                                              [yields] */
int aicr_k8s_wait_once(lua_State *L, struct aicr_task *t, lua_KFunction k);

/* Pushes the object of an answer.                              [-0, +1, v] */
void aicr_k8s_push_object(lua_State *L, const char *text, size_t len);

/* In place of the box on the top: what a generic for takes to go through the
 * items of its call.                                           [-1, +4, m] */
int aicr_k8s_iterate(lua_State *L, const char *what);

/* Raises the error of the box's failed call.                   [-0, +0, v] */
int aicr_k8s_fail(lua_State *L, const struct aicr_k8s_box *box);

int aicr_k8s_call(lua_State *L);
int aicr_k8s_stream(lua_State *L);
int aicr_k8s_exec(lua_State *L);

#endif
