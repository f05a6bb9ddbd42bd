/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_NCCL_TABLE_H
#define AICR_NCCL_TABLE_H

#include "nccl/figure.h"
#include "nccl/result.h"

/* The table of nccl-tests: columns by the names in its header, rows put
 * together from the pieces that other output left of them (nccl-benchmark.md
 * 5.2, 5.4 and 0.1). A row is whole or it is not a row. */

#define NCCL_COLUMNS_MAX 32

enum nccl_field {
  NCCL_SIZE,
  NCCL_COUNT,
  NCCL_TYPE,
  NCCL_REDOP,
  NCCL_ROOT,
  NCCL_TIME,
  NCCL_ALGBW,
  NCCL_BUSBW,
  NCCL_WRONG,
  NCCL_ERROR,
  NCCL_I_MIN,
  NCCL_I_MAX,
  NCCL_I_P99,
  NCCL_I_CV,
  NCCL_OTHER, /* a name that we do not know: one word */
  NCCL_DATE,  /* the time stamp is two words */
  NCCL_CLOCK
};

struct nccl_columns {
  unsigned count; /* 0: there is no header yet */
  struct {
    enum nccl_field field;
    bool in_place;
    bool stop; /* other output may come behind this column */
  } of[NCCL_COLUMNS_MAX];
  bool legacy, cpu_time, has_redop, has_root, in_place;
};

/* Reads the second line of a header, behind its '#'. False when it is none. */
bool nccl_columns_read(const char *text, size_t len, struct nccl_columns *out);

/* Is it the header of nccl-tests 1.x? */
bool nccl_is_old_header(const char *text, size_t len);

/* The 13 columns that rows without a header are taken for. */
void nccl_columns_usual(struct nccl_columns *out);

/* A row of which some columns are read. */
struct nccl_open_row {
  bool open;
  unsigned at; /* the next column */
  struct nccl_row row;
  double half[2][3]; /* out of and in place: how exact time, algbw, busbw are */
};

enum nccl_piece {
  NCCL_FOREIGN, /* nothing of a row */
  NCCL_OPEN,    /* the row goes on */
  NCCL_WHOLE,
  NCCL_DAMAGED, /* the row ends; what stands in it is what was certain */
  NCCL_NO_ROW   /* it began as a row but has not even its first columns */
};

/* Does a line with that text begin a row? */
bool nccl_begins_row(const char *text, size_t len);

/* Can it be the rest of the open row? */
bool nccl_continues_row(const struct nccl_columns *columns,
                        const struct nccl_open_row *row, const char *text,
                        size_t len);

/* Adds the words of a piece to the row; a row that is not open begins. `ended`:
 * the last word is not a part of a longer one. */
enum nccl_piece nccl_row_add(const struct nccl_columns *columns,
                             struct nccl_open_row *row, const char *text,
                             size_t len, bool ended, uint64_t line);

/* Do the figures follow from each other (rule 6)? `ranks` 0: not known. Gives
 * false and the warning when they contradict. */
bool nccl_row_agrees(const struct nccl_open_row *row, enum nccl_op op,
                     bool legacy, bool cpu_time, int64_t ranks,
                     enum nccl_warning *why);

#endif
