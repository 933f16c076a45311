package twotier

// NewMemory returns what a process remembers messages in, for tests.
var NewMemory = newMemory

// Len returns the number of messages that are remembered, expired ones included
// that nobody has come across yet.
func (m *memory) Len() int { return m.used.Len() }
