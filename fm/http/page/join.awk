# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# join.awk: writes index.html with its style sheet and its modules in it, one document that asks for no other.
#
#   awk -f join.awk index.html
#
# Each module becomes a function, so that its names stay its own; what it exports is the object that the function returns, and an import
# takes names from that object. Modules stand before those that import them. Import and export are read line by line: an import is one
# line, an export begins one, and a const of its own is exported by each line.

function fail(why) {
	print "join.awk: " why >"/dev/stderr"
	failed = 1
	exit 1
}

# Lines of a file that is no module.
function put(name,    path, line) {
	path = folder name
	while ((status = (getline line <path)) > 0)
		print line
	if (status < 0)
		fail(path ": cannot be read")
	close(path)
}

# "{ a, b }" of an import: each name has to be exported.
function check(names, from, by,    list, count, i) {
	gsub(/[{} ]/, "", names)
	count = split(names, list, ",")
	for (i = 1; i <= count; i++)
		if (!((from, list[i]) in exported))
			fail(by ": " from " exports no " list[i])
}

# A line of a module without `import` and `export`; the names that it exports are added to `exports`.
function translate(line, name,    part, from) {
	if (line ~ /^import /) {
		if (split(line, part, /^import | from "\.\/|\.js";$/) != 4)
			fail(name ": cannot read " line)
		from = part[3]
		module(from)
		check(part[2], from, name)
		return "const " part[2] " = module_" from ";"
	}
	if (line !~ /^export /)
		return line
	sub(/^export /, "", line)
	if (line ~ /^[{] [a-z]+ [}];$/) {
		split(line, part, " ")
		add(name, part[2])
		return ""
	}
	split(line, part, /^(async )?(const|function|class) |[ (=]/)
	add(name, part[2])
	return line
}

function add(name, what) {
	if (what !~ /^[A-Za-z_$]+$/)
		fail(name ": cannot read an export")
	exported[name, what] = 1
	exports[name] = exports[name] (exports[name] == "" ? "" : ", ") what
}

function module(name,    path, line, text) {
	if (begun[name] == 2)
		return
	if (begun[name])
		fail(name ": imports itself by way of others")
	begun[name] = 1
	path = folder name ".js"
	while ((status = (getline line <path)) > 0)
		text = text translate(line, name) "\n"
	if (status < 0)
		fail(path ": cannot be read")
	close(path)
	if (index(text, "</script"))
		fail(path ": ends the element that it is in")
	printf "const module_%s = (() => {\n%sreturn { %s };\n})();\n", name, text, exports[name]
	begun[name] = 2
}

FNR == 1 { folder = FILENAME; sub(/[^\/]*$/, "", folder) }
/^<link rel="stylesheet"/ {
	split($0, part, "\"")
	print "<style>"
	put(part[4])
	print "</style>"
	next
}
/^<script type="module"/ {
	split($0, part, /"|\.js/)
	print "<script type=\"module\">"
	module(part[4])
	print "</script>"
	next
}
{ print }
END { exit failed }
