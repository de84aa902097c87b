package worker

import (
	"errors"
	"fmt"
)

// defaultEOT is eot_threshold when it is absent: Flux's own default.
const defaultEOT = 0.7

// checkThresholds joins every complaint about how sure a recogniser must be
// that ends turns itself. stt is the agent's: only one such is known.
func (t TurnConfig) checkThresholds(stt string) error {
	if t.EOTThreshold == nil && t.EagerEOTThreshold == nil {
		return nil
	}
	var all []error
	complain := func(format string, args ...any) { all = append(all, fmt.Errorf(format, args...)) }
	if stt != "flux" {
		complain("turn.eot_threshold, turn.eager_eot_threshold: stt.provider %q does not end turns itself; flux does", stt)
	}
	eot := defaultEOT
	if t.EOTThreshold != nil {
		if eot = *t.EOTThreshold; eot < 0.5 || eot > 0.9 {
			complain("turn.eot_threshold: %v is not in 0.5 to 0.9", eot)
		}
	}
	if t.EagerEOTThreshold != nil {
		switch eager := *t.EagerEOTThreshold; {
		case eager < 0.3 || eager > 0.9:
			complain("turn.eager_eot_threshold: %v is not in 0.3 to 0.9", eager)
		case eager > eot:
			complain("turn.eager_eot_threshold: %v is above eot_threshold, %v", eager, eot)
		}
	}
	return errors.Join(all...)
}
