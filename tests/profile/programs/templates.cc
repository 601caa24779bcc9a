// Allocates in functions with long names; one of them, serve, calls another from two lines.
#include <map>
#include <string>
#include <vector>

template <typename Key, typename Value>
class Cache {
 public:
  __attribute__((noinline)) void put(const Key& key, const Value& value) { entries_[key].push_back(value); }

 private:
  std::map<Key, std::vector<Value>> entries_;
};

static Cache<std::string, std::string> *kept = new Cache<std::string, std::string>;

__attribute__((noinline)) void serve(int i) {
  kept->put(std::string(40, 'a') + std::to_string(i), std::string(3000, 'b'));
  kept->put(std::string(40, 'c') + std::to_string(i), std::string(1000, 'd'));
}

int main() {
  for (int i = 0; i < 100; i++) serve(i);
  static void *volatile other = new char[600000];
  (void)other;
  return 0;
}
