/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/text.h"
#include "kube/recording_store.h"

/* The objects of a list: in order, one of a name, found by it. */

static void free_object(struct kube_rec_object *o)
{
  if (o->file == REC_IN_MEMORY) {
    aicr_free(o->at.text);
  }
}

const char *kube_rec_ns(const struct kube_rec_object *o)
{
  return o->ns_name;
}

const char *kube_rec_name(const struct kube_rec_object *o)
{
  return o->ns_name + o->ns_len + 1;
}

void kube_rec_set_free(struct kube_rec_set *set)
{
  for (size_t i = 0; i < set->count; i++) {
    free_object(&set->items[i]);
  }
  aicr_free(set->items);
  *set = (struct kube_rec_set){0};
}

/* The order of a server, whose keys are NAMESPACE/NAME: "a-b" before "a". */
static int compare_namespaces(const char *a, const char *b)
{
  while (*a != '\0' && *a == *b) {
    a++;
    b++;
  }
  unsigned char ca = *a == '\0' ? '/' : (unsigned char)*a;
  unsigned char cb = *b == '\0' ? '/' : (unsigned char)*b;
  return *a == *b ? 0 : ca < cb ? -1 : 1;
}

static int compare_names(const struct kube_rec_object *o, const char *ns,
                         const char *name)
{
  int c = compare_namespaces(kube_rec_ns(o), ns);
  return c != 0 ? c : strcmp(kube_rec_name(o), name);
}

static bool before(const struct kube_rec_object *a,
                   const struct kube_rec_object *b)
{
  int c = compare_names(a, kube_rec_ns(b), kube_rec_name(b));
  return c != 0 ? c < 0 : a->order < b->order;
}

static bool recorded_before(const struct kube_rec_object *a,
                            const struct kube_rec_object *b)
{
  return a->order < b->order;
}

typedef bool order(const struct kube_rec_object *a,
                   const struct kube_rec_object *b);

static void sift_down(struct kube_rec_object *items, size_t at, size_t count,
                      order *less)
{
  struct kube_rec_object moved = items[at];
  for (;;) {
    size_t child = at * 2 + 1;
    if (child >= count) {
      break;
    }
    if (child + 1 < count && less(&items[child], &items[child + 1])) {
      child++;
    }
    if (!less(&moved, &items[child])) {
      break;
    }
    items[at] = items[child];
    at = child;
  }
  items[at] = moved;
}

/* In place, since qsort() takes the array's size once more, and never slow,
 * whoever made the names. False: they were in that order. */
static bool sort(struct kube_rec_set *set, order *less)
{
  struct kube_rec_object *items = set->items;
  size_t i = 1;
  while (i < set->count && less(&items[i - 1], &items[i])) {
    i++;
  }
  if (i >= set->count) {
    return false;
  }
  for (i = set->count / 2; i > 0; i--) {
    sift_down(items, i - 1, set->count, less);
  }
  for (i = set->count - 1; i > 0; i--) {
    struct kube_rec_object largest = items[0];
    items[0] = items[i];
    items[i] = largest;
    sift_down(items, 0, i, less);
  }
  return true;
}

static bool is_number(const char *text)
{
  return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static int compare_numbers(const char *a, const char *b)
{
  a += strspn(a, "0");
  b += strspn(b, "0");
  size_t la = strlen(a), lb = strlen(b);
  if (la != lb) {
    return la < lb ? -1 : 1;
  }
  return strcmp(a, b);
}

/* Which of two objects of one name stays: *wins when it is the later one. */
static bool later_wins(const struct kube_rec_store *s,
                       const struct kube_rec_object *earlier,
                       const struct kube_rec_object *later, const char *what,
                       bool *wins, struct aicr_buf *warnings,
                       struct aicr_error *err)
{
  const struct kube_rec_object *const both[] = {earlier, later};
  struct kube_rec_texts texts[2];
  struct kube_rec_facts facts[2];
  const char *text[2] = {NULL, NULL};
  bool ok = true;
  for (size_t i = 0; i < 2; i++) {
    kube_rec_texts_begin(&texts[i], s);
    text[i] = ok ? kube_rec_text(&texts[i], both[i], err) : NULL;
    ok = text[i] != NULL &&
         kube_rec_read_facts(text[i], both[i]->len, &facts[i], err);
  }
  *wins = true;
  bool told = ok && facts[0].uid[0] != '\0' &&
              strcmp(facts[0].uid, facts[1].uid) == 0 &&
              is_number(facts[0].rv) && is_number(facts[1].rv);
  if (told) {
    *wins = compare_numbers(facts[0].rv, facts[1].rv) < 0;
  } else if (ok && (earlier->len != later->len ||
                    memcmp(text[0], text[1], later->len) != 0)) {
    struct aicr_quoted ns, name;
    kube_rec_note(
        warnings,
        "%s %s in namespace %s was recorded twice; the later one is "
        "used",
        what,
        aicr_quote(&name, kube_rec_name(later), strlen(kube_rec_name(later))),
        aicr_quote(&ns, kube_rec_ns(later), later->ns_len));
  }
  for (size_t i = 0; i < 2; i++) {
    ok = kube_rec_texts_end(&texts[i], ok ? err : NULL) && ok;
  }
  return ok;
}

/* One of equal names stays; they lie side by side. */
static bool drop_repeats(const struct kube_rec_store *s,
                         struct kube_rec_set *set, const char *what,
                         struct aicr_buf *warnings, struct aicr_error *err)
{
  size_t kept = 1;
  bool ok = true;
  for (size_t i = 1; i < set->count; i++) {
    struct kube_rec_object *last = &set->items[kept - 1], *o = &set->items[i];
    bool wins = false;
    if (!ok || compare_names(last, kube_rec_ns(o), kube_rec_name(o)) != 0) {
      set->items[kept++] = *o;
      continue;
    }
    struct kube_rec_object lost = *o;
    ok = later_wins(s, last, o, what, &wins, warnings, err);
    if (wins) {
      lost = *last;
      *last = *o;
    }
    free_object(&lost);
  }
  set->count = kept;
  return ok;
}

bool kube_rec_set_finish(const struct kube_rec_store *s,
                         struct kube_rec_set *set, bool keep_order,
                         const char *what, struct aicr_buf *warnings,
                         struct aicr_error *err)
{
  if (set->count < 2) {
    return true;
  }
  bool sorted = sort(set, before);
  if (!drop_repeats(s, set, what, warnings, err)) {
    return false;
  }
  if (sorted && keep_order) {
    set->unsorted = sort(set, recorded_before);
  }
  return true;
}

const struct kube_rec_object *kube_rec_set_find(const struct kube_rec_set *set,
                                                const char *ns,
                                                const char *name)
{
  size_t low = 0, high = set->count;
  for (size_t i = 0; set->unsorted && i < set->count; i++) {
    if (compare_names(&set->items[i], ns, name) == 0) {
      return &set->items[i];
    }
  }
  while (!set->unsorted && low < high) {
    size_t mid = low + (high - low) / 2;
    int c = compare_names(&set->items[mid], ns, name);
    if (c == 0) {
      return &set->items[mid];
    }
    if (c < 0) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return NULL;
}
