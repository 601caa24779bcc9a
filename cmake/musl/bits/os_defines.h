// In place of the file of the same name that libstdc++ was configured with, which asks for glibc's version.
#pragma once
