"""conan create packaging/conan, in a clone or an unpacked source tarball."""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rm, rmdir
from conan.tools.scm import Version

required_conan_version = ">=2.0"


class Acre(ConanFile):
    name = "acre"
    description = "A general-purpose memory allocator for Linux"
    license = "MIT"
    topics = ("allocator", "malloc", "memory")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "prefix_only": [True, False]}
    default_options = {"shared": True, "prefix_only": False}

    def set_version(self):
        lists = load(self, os.path.join(self.recipe_folder, "../../CMakeLists.txt"))
        self.version = re.search(r"project\(acre VERSION (\S+)", lists)[1]

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "../..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "faces/*", "include/*", "src/*"):
            copy(self, pattern, src=root, dst=self.export_sources_folder)

    def configure(self):
        # The library has no C++ interface, and its archive no symbol of the C++ library.
        self.settings.compiler.rm_safe("libcxx")
        self.settings.compiler.rm_safe("cppstd")

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration("acre is for Linux on x86_64 and armv8")
        least = {"gcc": "12", "clang": "16"}.get(str(self.settings.compiler))
        if least is None or Version(self.settings.compiler.version) < least:
            raise ConanInvalidConfiguration("acre needs gcc 12 or clang 16, or a later one")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "ACRE_PREFIX_ONLY": bool(self.options.prefix_only), "ACRE_BUILD_TESTS": False, "ACRE_COMMAND": False,
            "ACRE_TRACE": False, "ACRE_WERROR": False})
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        libraries = os.path.join(self.package_folder, "lib")
        # Conan writes these itself, from package_info().
        rmdir(self, os.path.join(libraries, "cmake"))
        rmdir(self, os.path.join(libraries, "pkgconfig"))
        if self.options.shared:
            rm(self, "libacre.a", libraries)
        else:
            rm(self, "libacre.so*", libraries)
            rmdir(self, os.path.join(libraries, "acre"))

    def package_info(self):
        self.cpp_info.libs = ["acre"]
        self.cpp_info.set_property("cmake_file_name", "acre")
        self.cpp_info.set_property("cmake_target_name", "acre::acre")
        self.cpp_info.set_property("cmake_target_aliases", [] if self.options.shared else ["acre::static"])
        self.cpp_info.set_property("pkg_config_name", "acre")
        if not self.options.shared and not self.options.prefix_only:
            # A linker takes malloc out of an archive only for a program that calls it.
            self.cpp_info.exelinkflags = ["-Wl,--undefined=malloc"]
