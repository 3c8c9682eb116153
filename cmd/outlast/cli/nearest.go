package cli

// nearest returns the word that takes the fewest edits to make of typed, the first of equals. It returns false if even that
// one would have to change by more than half of its letters: then it is a guess, not a typing error.
func nearest(typed string, words []string) (string, bool) {
	best, least := "", 0
	for _, w := range words {
		if d := distance(typed, w); d <= len(w)/2 && (best == "" || d < least) {
			best, least = w, d
		}
	}
	return best, best != ""
}

// distance counts the bytes to insert, remove or change, and the pairs to swap, to make b of a.
func distance(a, b string) int {
	var older []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], older[j-1]+1)
			}
		}
		older, row = row, next
	}
	return row[len(b)]
}
