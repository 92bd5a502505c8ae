/* tests/unit/unit.h - what every cmocka program includes first. */
#ifndef UNIT_UNIT_H
#define UNIT_UNIT_H
/* cmocka.h wants these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#endif
