/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_SCAN_H
#define AICR_KUBE_RECORDING_SCAN_H

#include "kube/recording_facts.h"

/* One pass over a JSON document: checks it, reads its identity and that of the
 * elements of its "items", and says where those lie. Keeps no text. Whether
 * the document is a list is known at its end only ("kind" may come after
 * "items"), so what is wrong with it as a list waits until then. */

/* What an object may take: an API server takes less than 2 MiB. */
#define REC_ITEM_MAX (16u << 20)

enum kube_rec_scan_result {
  REC_SCAN_ERROR,   /* reader.error */
  REC_SCAN_MORE,    /* feed the reader or finish it */
  REC_SCAN_ITEM,    /* item, item_offset, item_len */
  REC_SCAN_DOCUMENT /* the document is complete: the facts below, len */
};

struct kube_rec_scan {
  struct aicr_json_reader reader; /* feed and finish this one */
  size_t items;                   /* seen so far */
  struct kube_rec_facts item;
  size_t item_offset, item_len; /* from where the document begins */

  bool is_object;
  struct kube_rec_facts facts;
  bool next_page; /* metadata.continue is set */
  bool remaining; /* metadata.remainingItemCount is above 0 */
  bool bad_list;  /* it is no list: list_error */
  struct aicr_error list_error;
  size_t len;

  bool muted; /* set by the caller: it wants no more items */

  /* private */
  struct kube_rec_fact_state top, inner;
  bool begun, in_items, whole;
};

/* whole: after the document only white space may follow, and is read. */
void kube_rec_scan_init(struct kube_rec_scan *s, bool whole);
void kube_rec_scan_free(struct kube_rec_scan *s);
enum kube_rec_scan_result kube_rec_scan_next(struct kube_rec_scan *s);

#endif
