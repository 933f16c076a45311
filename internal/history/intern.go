package history

import "crypto/sha256"

// digest stands for an id of any length. A million ids of their own would take more
// memory than all that is known about them.
type digest [16]byte

func digestOf(text string) digest {
	sum := sha256.Sum256([]byte(text))
	return digest(sum[:16])
}

// short is a digest for comparisons of a few values; 0 stands for none.
func short(text string) uint64 {
	if text == "" {
		return 0
	}
	d := digestOf(text)
	var n uint64
	for _, b := range d[:8] {
		n = n<<8 | uint64(b)
	}
	return n | 1
}

// names numbers texts that occur often. Number 0 is the empty one.
type names struct {
	numbers map[string]uint32
	texts   []string
}

func newNames() *names {
	return &names{numbers: map[string]uint32{"": 0}, texts: []string{""}}
}

func (n *names) number(text string) uint32 {
	if i, ok := n.numbers[text]; ok {
		return i
	}
	i := uint32(len(n.texts)) //nolint:gosec // far fewer than 2^32
	n.texts = append(n.texts, text)
	n.numbers[text] = i
	return i
}

func (n *names) text(i uint32) string { return n.texts[i] }
