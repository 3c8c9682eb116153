package main

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

// distance counts the bytes to insert, remove or change to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
