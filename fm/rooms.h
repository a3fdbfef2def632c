/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rooms: the concerns of the fabric manager, in the order of their hooks (fm/fabric/module.h). */
#pragma once

#include "fm/fabric/module.h"

extern fabric_modules fabric_rooms;
