"""Conan 2 recipe: `conan create third_party/packaging/conan` builds the checkout that it lies in."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Weft(ConanFile):
    name = "weft"
    description = "Fiber job system for game engines: tasks, counters and waits on a fixed pool of fibers"
    license = "MIT"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "exceptions": [True, False]}
    default_options = {"shared": False, "fPIC": True, "exceptions": True, "boost/*:without_context": False}

    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..", "..")

    def set_version(self):
        header = load(self, os.path.join(self._root(), "include", "weft", "version.h"))
        self.version = ".".join(re.findall(r"#define WEFT_VERSION_\w+ (\d+)", header))

    def export_sources(self):
        for pattern in ("include/*", "source/*", "third_party/cmake/*", "third_party/debugger/*",
                        "third_party/weft.pc.in", "LICENSE"):
            copy(self, pattern, self._root(), self.export_sources_folder)

    def requirements(self):
        self.requires("boost/[>=1.74]")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.variables["WEFT_NO_EXCEPTIONS"] = not self.options.exceptions
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder="third_party/cmake")
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.export_sources_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.libs = ["weft"]
        self.cpp_info.requires = ["boost::context"]
        if self.options.shared:
            self.cpp_info.defines.append("WEFT_SHARED=1")
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["pthread"]
        if self.settings.os == "Windows":
            self.cpp_info.system_libs = ["synchronization"]
