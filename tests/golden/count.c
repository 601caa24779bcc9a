// A plugin for QEMU that counts a program's instructions: -plugin count.so,out=FILE
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// What is used of QEMU's plugin interface, as its manual documents it. Debian has no package with the header.
struct qemu_plugin_tb;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
typedef void (*tb_trans_cb)(uint64_t id, struct qemu_plugin_tb *tb);
typedef void (*exit_cb)(uint64_t id, void *data);
extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, tb_trans_cb cb);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, enum qemu_plugin_op op, void *to,
                                                     uint64_t value);
extern void qemu_plugin_register_atexit_cb(uint64_t id, exit_cb cb, void *data);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

static uint64_t count;
static char path[4096];

static void on_translation(uint64_t id, struct qemu_plugin_tb *tb) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &count, qemu_plugin_tb_n_insns(tb));
}

static void on_exit(uint64_t id, void *data) {
  (void)id;
  (void)data;
  FILE *file = fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%" PRIu64 "\n", count);
  fclose(file);
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int count_of_arguments, char **arguments);
EXPORT int qemu_plugin_install(uint64_t id, const void *info, int count_of_arguments, char **arguments) {
  (void)info;
  if (count_of_arguments != 1 || strncmp(arguments[0], "out=", 4) != 0 || strlen(arguments[0]) >= sizeof path) return 1;
  strcpy(path, arguments[0] + 4);
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_atexit_cb(id, on_exit, NULL);
  return 0;
}
