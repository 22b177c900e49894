// Package strict reads YAML files that people write by hand, and tells them
// exactly what is wrong: every mistake of the file at once, each with line,
// column, path, what was understood, what is wrong with it, and one valid
// example.
//
// A file is one mapping of known keys. Anchors, aliases, merge keys, tags and
// several documents are refused, so that what a file says is what it shows and
// so that a small file cannot grow. Size, depth and number of words are
// bounded before anything is built from them.
//
// A reader states its keys as a table:
//
//	doc := strict.Parse("site.yaml", data)
//	doc.Root().Object(
//		strict.Need("name", "name: lab", strict.Text(&name)),
//		strict.May("wait", "wait: 15m", strict.Span(&wait, 0, time.Hour)),
//	)
//	if err := doc.Err(); err != nil { ... }
package strict
