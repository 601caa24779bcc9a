/* Bytes by tag, and a tag with a limit. See docs/tags.md. */
#include <acre/tags.h>
#include <stdio.h>
#include <stdlib.h>

static void print_all(void) {
  for (acre_tag_t *tag = acre_tag_next(NULL); tag != NULL; tag = acre_tag_next(tag)) {
    struct acre_tag_info info;
    if (acre_tag_get(tag, &info) == 0) {
      printf("%-10s live %8llu  allocated %8llu  refused %llu\n", info.name, (unsigned long long)info.live,
             (unsigned long long)info.allocated, (unsigned long long)info.refused);
    }
  }
}

static int give_up(acre_tag_t *tag, size_t wanted, void *cache) {
  void **block = cache;
  printf("%zu bytes more would pass the limit: %s\n", wanted, *block ? "the cache goes" : "there is nothing to give");
  const int had = *block != NULL;
  free(*block);
  *block = NULL;
  (void)tag;
  return had;
}

int main(void) {
  acre_tag_push("query 17");
  void *result = malloc(100000), *cache = malloc(50000);
  acre_tag_push("parser");
  void *tree = malloc(3000);
  acre_tag_pop();
  acre_tag_limit(acre_tag("query 17"), 200000);
  acre_tag_on_limit(acre_tag("query 17"), give_up, &cache);
  void *more = malloc(80000);
  void *too_much = malloc(80000);
  acre_tag_pop();
  printf("80000 bytes: %s, and then: %s\n", more ? "had" : "refused", too_much ? "had" : "refused");
  print_all();
  free(result), free(tree), free(more), free(too_much);
  return 0;
}
