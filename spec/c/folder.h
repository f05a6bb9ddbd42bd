/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_FOLDER_H
#define SPEC_C_FOLDER_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rows.h"

/* Files in a temporary folder. */

struct folder {
  char path[64];
};

static inline void folder_make(struct folder *f)
{
  snprintf(f->path, sizeof f->path, "/tmp/aicr-spec-XXXXXX");
  assert_non_null(mkdtemp(f->path));
}

static inline void remove_below(int folder, const char *name)
{
  int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  DIR *dir = fdopendir(fd);
  assert_non_null(dir);
  for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
    struct stat st;
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) {
      continue;
    }
    assert_int_equal(fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW), 0);
    if (S_ISDIR(st.st_mode)) {
      remove_below(fd, e->d_name);
    } else {
      assert_int_equal(unlinkat(fd, e->d_name, 0), 0);
    }
  }
  closedir(dir);
  assert_int_equal(unlinkat(folder, name, AT_REMOVEDIR), 0);
}

static inline void folder_remove(struct folder *f)
{
  remove_below(AT_FDCWD, f->path);
}

static inline void folder_path(const struct folder *f, const char *file,
                               char *out, size_t size)
{
  snprintf(out, size, "%s/%s", f->path, file);
  for (char *p = out + strlen(f->path) + 1; *p != '\0'; p++) {
    if (*p == '/') {
      *p = '\0';
      mkdir(out, 0700);
      *p = '/';
    }
  }
}

static inline void folder_write(const struct folder *f, const char *file,
                                const void *data, size_t len)
{
  char path[1024];
  folder_path(f, file, path, sizeof path);
  FILE *out = fopen(path, "wb");
  assert_non_null(out);
  assert_int_equal(fwrite(data, 1, len, out), len);
  fclose(out);
}

static inline void folder_text(const struct folder *f, const char *file,
                               const char *text)
{
  folder_write(f, file, text, strlen(text));
}

struct file {
  const char *path, *text;
};

#define FILES_MAX 6

static inline void write_files(const struct folder *f, const struct file *files)
{
  for (size_t i = 0; i < FILES_MAX && files[i].path != NULL; i++) {
    folder_text(f, files[i].path, files[i].text);
  }
}

#endif
