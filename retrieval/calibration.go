package retrieval

// Calibration is what was fitted for one base and the embedder of its vectors,
// on questions whose answers are known. It takes the place of what the embedder
// declares; for another embedder it means nothing.
type Calibration struct {
	Embedder string // whose vectors it was fitted on, and their length
	Dim      int
	// Strong and Weak are the evidence cut-offs, as an embedder's CutOffs.
	Strong, Weak float64
	// WordsWeight and VectorsWeight are what the branches count in the fusion.
	WordsWeight, VectorsWeight float64
}
