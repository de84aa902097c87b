// Package rivals measures other Go libraries on the collection and the questions
// that ours is measured on: bleve for the words, chromem-go for the vectors.
//
// It is a module of its own, so that what they depend on reaches nobody who uses
// Headstart. It holds benchmarks alone: `make rivals` runs them, and they skip where
// the collection is not.
package rivals
