package strict

import "github.com/goccy/go-yaml/ast"

// Pairs reads a mapping whose keys people choose. key and value say what is
// wrong with one of either, and nothing when it is well.
func Pairs(dst *map[string]string, key, value func(string) string) func(Node) {
	return func(n Node) {
		m, ok := n.node.(*ast.MappingNode)
		if !ok {
			n.Fault("want a mapping")
			return
		}
		out := make(map[string]string, len(m.Values))
		for _, entry := range m.Values {
			name := keyText(entry.Key)
			child := n.child(entry.Value, entry.Key.(ast.Node), name)
			child.example = n.example
			if _, twice := out[name]; twice {
				child.FaultKey("given twice: keep one")
				continue
			}
			if wrong := key(name); wrong != "" {
				child.FaultKey(wrong)
				continue
			}
			var s string
			Text(&s, value)(child)
			out[name] = s
		}
		*dst = out
	}
}
