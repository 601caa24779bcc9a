/* What a program writes into its own recording (docs/record.md).
 *
 *     acre_trace_mark("request 17");
 */
#ifndef ACRE_TRACE_H
#define ACRE_TRACE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Writes a text, of which the first 255 bytes count, with the time and the thread into the recording of this process.
 * Nothing happens while the process is not recorded. May be called from any thread, but from no signal handler. */
void acre_trace_mark(const char *text);

#ifdef __cplusplus
}
#endif

#endif
