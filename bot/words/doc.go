// Package words is the grammar of /rent and /release. It is pure: a line and the
// names that mean something give a request, or an error that says what was
// understood, what is wrong, and one line that works.
//
// Words may come in any order. How a wish, a time and money are read is the
// desk's: package desk has the one reader, for the command line too.
package words
