"""Says what pyproject.toml cannot: that the wheel is for one kind of machine, and for every Python on it."""

import os

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class WithProgram(Distribution):
    def has_ext_modules(self):
        return True


class ForEveryPython(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


version = os.environ.get("WHEEL_VERSION")
if not version:
    raise SystemExit("the wheel needs the program inside: make it with Scripts/wheel of a checkout")

setup(version=version, distclass=WithProgram, cmdclass={"bdist_wheel": ForEveryPython})
