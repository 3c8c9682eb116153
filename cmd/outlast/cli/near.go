package cli

// Nearest returns the word that somebody may have meant; false: it would be a guess.
func Nearest(typed string, words []string) (string, bool) { return nearest(typed, words) }
