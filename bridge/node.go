package bridge

// Holds reports whether the node, when empty, holds one node of a shape.
func (n *Node) Holds(want *Shape) bool { return satisfies(&n.Shape, n.Features, want) }
