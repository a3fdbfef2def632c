# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# fmd.conf(5) out of etc/fmd.conf, so that both say the same: its sections, and of each block what stands above its keys.

function clean(s) {
	gsub(/\\/, "\\e", s)
	gsub(/-/, "\\-", s)
	sub(/^[.']/, "\\\\\\&&", s)
	return s
}

function quoted(s) {
	gsub(/"/, "\\(dq", s)
	return s
}

function flush_block(   i, head) {
	if (nkeys) {
		head = ""
		for (i = 1; i <= nkeys; i++)
			head = head (i > 1 ? "\n.TQ\n" : "") ".B " quoted(clean(keys[i]))
		printf ".TP\n%s\n", head
	} else if (ntext) {
		print ".PP"
	}
	for (i = 1; i <= ntext; i++)
		print text[i] == "" ? ".sp" : text[i] ~ /^    / ? ".nf\n" clean(text[i]) "\n.fi" : clean(text[i])
	nkeys = ntext = 0
}

BEGIN {
	print ".\\\" SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB"
	print ".TH FMD.CONF 5 \"\" fmd \"InfiniBand fabric manager\""
	print ".SH NAME\nfmd.conf \\- configuration of the fabric manager fmd"
	print ".SH DESCRIPTION"
	print "All keys, with their defaults. What is not in the file is its default. The syntax is libconfig's:"
	print ".IR KEY \" = \" VALUE ;"
	print "a line, texts in quotes, remarks behind #. A test of a file:"
	print ".BR \"fmd \\-\\-check\\-config FILE\" ."
}

/^# SPDX/ { next }

/^# ---- .* ----*$/ {
	if (begun)
		flush_block()
	begun = 1
	nkeys = ntext = 0
	sub(/^# -+ /, "")
	sub(/ -+$/, "")
	print ".SH " toupper(clean($0))
	next
}

/^#?[a-z][a-z0-9_]* = .*;/ {
	sub(/^#/, "")
	sub(/;[^;]*$/, "")
	keys[++nkeys] = $0
	next
}

/^#/ {
	if (nkeys)
		flush_block()
	sub(/^# ?/, "")
	text[++ntext] = $0
	next
}

/^$/ {
	if (begun)
		flush_block()
}

END {
	flush_block()
	print ".SH FILES\n.I /etc/fmd/fmd.conf"
	print ".SH SEE ALSO\n.BR fmd (8),\n.BR fmctl (1),\n.BR fmd\\-migration (7)"
}
