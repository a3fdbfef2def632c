/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fake_fetch: the HTTP client that always opens and reads no file; `struct fetch` is its loop. What
 * an endpoint answers (fetch_url_parse, fetch_get, fetch_cancel) is the test's.
 */
#pragma once

#include "fm/nvswitch/intake_sources.h"
