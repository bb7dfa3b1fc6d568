/* What programs of today take random bytes from; Wine has it from version 8.10 on. */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE to, SIZE_T length) { return RtlGenRandom(to, length); }
