/* §title
 *
 * §facts
 * C99, nothing but <stdint.h>: no memory is taken, nothing is global.
 * §numbers
 *
 * A source file:  cc -std=c99 -O2 -c §file
 * A header:       #define DLN_HEADER, then #include "§file"
 */
#ifndef §header
#define §header

#include <stdint.h>

§declarations

#endif /* §header */

#if !defined(DLN_HEADER) && !defined(§source)
#define §source

§definitions
#endif
