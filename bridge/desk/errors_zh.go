package desk

// chineseErrors are the twins of what errors say, by the English format; the
// facts come in the same order.
var chineseErrors = map[string]string{}
