package runs

import (
	"encoding/json"
	"time"
)

// Outcome is how an attempt ended.
type Outcome string

// The outcomes.
const (
	OutcomeCompleted     Outcome = "completed"              // the marker came, in its place
	OutcomeStopped       Outcome = "stopped_without_answer" // the agent ended its turn for good without it
	OutcomeLimit         Outcome = "limit"                  // one of the attempt's limits
	OutcomeAskedQuestion Outcome = "asked_question"         // a second question
	OutcomeKernelExit    Outcome = "kernel_exit"
	OutcomeAgentError    Outcome = "agent_error"
	OutcomeAgentExit     Outcome = "agent_exit"
	OutcomeConsoleLost   Outcome = "console_lost"
	OutcomeHarnessError  Outcome = "harness_error"
	OutcomeSetupError    Outcome = "setup_error" // data or interpreter missing, start failed
	OutcomeCancelled     Outcome = "cancelled"   // by a person, or by the end of the run
	TypeAttempt                  = "attempt"
	TypeSkipped                  = "skipped"
	TypeSummary                  = "summary"
)

// Attempt is one line of attempts.jsonl: one try at a case.
type Attempt struct {
	Type    string   `json:"type"` // "attempt"
	Run     string   `json:"run"`
	CaseID  string   `json:"case_id"`
	Tags    []string `json:"tags,omitempty"` // of the case
	Epoch   int      `json:"epoch"`          // from 1
	Try     int      `json:"try"`            // from 1
	Outcome Outcome  `json:"outcome"`
	Detail  string   `json:"outcome_detail"`

	// Passed is null where there is no verdict: the outcome is one that is not
	// graded, or the case has no grader. Score is null with it.
	Passed  *bool             `json:"passed"`
	Score   *float64          `json:"score"`
	Graders []json.RawMessage `json:"graders"` // results: type, passed, score, reasoning, metrics, error
	Answer  json.RawMessage   `json:"answer"`  // null: none
	Summary string            `json:"summary"` // of the submission

	Started    time.Time  `json:"started"`
	Ended      time.Time  `json:"ended"`
	DurationMS int64      `json:"duration_ms"`
	Phases     PhaseTimes `json:"phases"`
	Usage      Usage      `json:"usage"`
	Limits     Limits     `json:"limits"`

	// NotebookState, Trace and Files are paths below the run folder.
	NotebookState string   `json:"notebook_state"`
	Trace         string   `json:"trace"`
	Files         []string `json:"files"`

	TamperSignals int             `json:"tamper"`
	Interventions int             `json:"interventions"`
	Enforced      map[string]bool `json:"enforced"`
}

// PhaseTimes is where an attempt's time went, in milliseconds.
type PhaseTimes struct {
	StartMS   int64 `json:"start_ms"`
	WorkMS    int64 `json:"work_ms"`
	WaitMS    int64 `json:"wait_ms"` // of WorkMS: until the model could be called, as the agent says
	CollectMS int64 `json:"collect_ms"`
	GradeMS   int64 `json:"grade_ms"`
}

// Usage is what an attempt took, as far as its agent tells.
type Usage struct {
	InputTokens  int64    `json:"input_tokens"` // of all prompts, cached or not
	OutputTokens int64    `json:"output_tokens"`
	CostUSD      *float64 `json:"cost_usd"`    // null: the price is not known
	ModelCalls   int      `json:"model_calls"` // that were answered: messages of the assistant
	Actions      int      `json:"actions"`
	CellsRun     int      `json:"cells_run"`
	Retries      int      `json:"retries"` // calls of the model that failed and were made again

	// Of InputTokens: read from the provider's cache, and written to it.
	CacheReadInputTokens     int64 `json:"cache_read_input_tokens"`
	CacheCreationInputTokens int64 `json:"cache_creation_input_tokens"`
}

// Limits are those of an attempt, as they held. Zero is no limit.
type Limits struct {
	WallS     float64 `json:"wall_s"` // from the query on
	IdleS     float64 `json:"idle_s"` // without a frame of the agent and without a running cell
	CellS     float64 `json:"cell_s"` // an execute_code, and how long a tool waits for a cell
	Turns     int     `json:"turns"`  // messages of the assistant
	Actions   int     `json:"actions"`
	Tokens    int64   `json:"tokens"`
	CostUSD   float64 `json:"cost_usd"`
	DiskBytes int64   `json:"disk_bytes"` // added to the sandbox, measured each second
}

// IsInfrastructureFailure tells whether an attempt ended for a reason that says nothing
// about the agent's work: it has no verdict although the case has graders.
func (a *Attempt) IsInfrastructureFailure() bool {
	switch a.Outcome {
	case OutcomeAgentError, OutcomeAgentExit, OutcomeConsoleLost, OutcomeHarnessError, OutcomeSetupError, OutcomeCancelled:
		return true
	case OutcomeKernelExit:
		return a.Passed == nil // graded only when it ran the agent's code
	default:
		return false
	}
}

// Skipped is the line of a case that was not tried, because something that it
// requires is missing.
type Skipped struct {
	Type   string `json:"type"` // "skipped"
	CaseID string `json:"case_id"`
	Reason string `json:"reason"`
}
