package signin

// BasicInTurns is Basic, and what is full while a password is checked.
func BasicInTurns(path string) (Method, chan struct{}, error) {
	b, err := newBasic(path)
	if err != nil {
		return nil, nil, err
	}
	return b.identify, b.turns, nil
}
