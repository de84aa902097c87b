package turn

// recordMetrics measures an answered turn at its first sound. A stage that was
// not passed (a greeting asks no model) costs nothing.
func (s *state) recordMetrics(r *reply) {
	d := r.debt
	if d == nil {
		return
	}
	m := MetricsTurn{SpeechID: d.id, EndpointingMS: ms(d.committed - d.ended), LookupWaitMS: ms(d.settled - d.committed)}
	last := d.settled
	for _, part := range []struct {
		stage stage
		field *float64
	}{
		{stageToken, &m.FirstTokenMS}, {stageClause, &m.FirstClauseMS}, {stageByte, &m.FirstByteMS}, {stageSounding, &m.PlayoutMS},
	} {
		if at := r.marks[part.stage]; at > last {
			*part.field = ms(at - last)
			last = at
		}
	}
	m.FirstAudioMS = ms(last - d.ended)
	if d.finalAt > d.ended {
		m.TranscriptMS = ms(d.finalAt - d.ended)
	}
	switch {
	case r.drafted == draftKept:
		m.Preemptive = draftKept
	case r.drafted != "":
		m.Preemptive, m.PreemptiveReason = "discarded", r.drafted
	}
	s.record(m)
}

func (s *state) recordModel(r *reply, use *modelUse) {
	if use == nil {
		return
	}
	u := use.result.Usage
	s.record(MetricsLLM{
		SpeechID: r.speech, Model: use.result.Model,
		PromptTokens: u.PromptTokens, PromptCachedTokens: u.PromptCachedTokens, CompletionTokens: u.CompletionTokens,
		Estimated: use.estimated, TTFTMS: ms(use.ttft), DurationMS: ms(use.took), Cancelled: use.cancelled,
	})
}
