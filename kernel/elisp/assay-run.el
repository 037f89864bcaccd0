;;; assay-run.el --- The run of a cell, of an execute_code, and a reset  -*- lexical-binding: t -*-

;;; Commentary:

;; What the server asks for by run_cell, execute_code and reset_kernel_globals:
;; works, see assay-schedule.el, each of which runs and answers.

;;; Code:

(require 'assay-batch)
(require 'assay-eval)
(require 'assay-names)
(require 'assay-schedule)
(require 'assay-state)
(require 'assay-text)

(defun assay-run-cell (cell code)
  "Return a work that runs CODE as CELL."
  (make-assay-work
   :cell cell
   :run (lambda (work) (assay-run--cell work code))
   :answer #'assay-run--cell-result))

(defun assay-run--cell (work code)
  "Run CODE as the cell of WORK, send its text and output, and return the outcome."
  (let ((start (float-time))
        (outcome nil))
    (assay-text-begin (assay-work-cell work))
    (setq outcome (assay-run--evaluate code))
    (assay-text-end)
    (assay-run--output work outcome)
    (append outcome (list :duration (* 1000 (- (float-time) start))))))

(defun assay-run--evaluate (code)
  "Evaluate CODE in the buffer that the last code left.
Return the plist of `agent-eval' and in it, as :names, what was bound."
  (let ((before nil)
        (outcome nil)
        (put-back (assay-names-keeper)))
    (with-current-buffer (assay-state-buffer)
      (let ((assay-eval-before-function
             (lambda (forms) (setq before (assay-names-bindings forms)))))
        (setq outcome (agent-eval code)))
      (funcall put-back) ; the kernel's own functions, which the code may have changed
      (assay-state-keep-buffer))
    (assay-batch-flush)
    (append outcome (list :names (assay-names-changed before)))))

(defun assay-run--output (work outcome)
  "Send the result or the error in OUTCOME as an output of WORK's cell."
  (let ((output (cond
                 ((plist-get outcome :result) (assay-run--result work outcome))
                 ((plist-get outcome :error) (assay-run--error outcome)))))
    (when output
      (assay-channel-send
       (list :type "cell_output" :cell_id (assay-work-cell work)
             :run_sequencer (assay-work-sequencer work) :output output)))))

(defun assay-run--result (work outcome)
  "Return the result in OUTCOME as an nbformat output of WORK."
  (list :output_type "execute_result"
        :data (list :text/plain (plist-get outcome :result))
        :metadata nil
        :execution_count (assay-work-sequencer work)))

(defun assay-run--error (outcome)
  "Return the error in OUTCOME as an nbformat output."
  (list :output_type "error"
        :ename (plist-get outcome :name)
        :evalue (plist-get outcome :error)
        :traceback (vconcat (split-string (assay-run--exception outcome) "\n"))))

(defun assay-run--exception (outcome)
  "Return the error in OUTCOME with its place, nil where there is none."
  (let ((text (plist-get outcome :error))
        (place (plist-get outcome :place)))
    (if place (concat text "\n  " place) text)))

(defun assay-run--status (work outcome)
  "Return the status of WORK, which ended with OUTCOME; nil: it never began."
  (cond ((or (null outcome) (assay-work-stopped work)) "interrupted")
        ((plist-get outcome :success) "ok")
        (t "error")))

(defun assay-run--cell-result (work outcome)
  "Send the cell_result of WORK, which ended with OUTCOME."
  (assay-channel-send
   (list :type "cell_result"
         :cell_id (assay-work-cell work)
         :run_sequencer (assay-work-sequencer work)
         :status (assay-run--status work outcome)
         :has_exception (if (plist-get outcome :error) t :false)
         :exception (or (assay-run--exception outcome) :null)
         :outputs (vconcat (plist-get outcome :names))
         :dataframe_outputs [] :figure_outputs [] :static_figure_outputs []
         :duration_ms (or (plist-get outcome :duration) 0))))

(defun assay-run-code (code tx pristine)
  "Return a work that runs CODE without a cell, to answer the execute_code TX.
Where it is PRISTINE it is not misled by functions that were put in the place of
Emacs's own."
  (make-assay-work
   :tx tx
   :run (lambda (_)
          (when pristine
            (funcall (assay-names-keeper) t))
          (assay-run--code code))
   :answer #'assay-run--code-response))

(defun assay-run--code (code)
  "Run CODE and return the outcome, with what was printed in it as :text."
  (assay-text-begin nil)
  (let ((outcome (assay-run--evaluate code)))
    (append outcome (list :text (assay-text-end)))))

(defun assay-run--code-response (work outcome)
  "Answer the execute_code of WORK, which ended with OUTCOME."
  (assay-channel-answer
   (assay-work-tx work)
   :type "execute_code_response"
   :status (assay-run--status work outcome)
   :result (or (plist-get outcome :result) :null)
   :stdout (or (plist-get outcome :text) "")
   :stderr ""
   :exception (or (assay-run--exception outcome) :null)
   :ename (or (plist-get outcome :name) :null)
   :error (or (plist-get outcome :error) :null)
   :forms (or (plist-get outcome :forms) 0)))

(defun assay-run-reset (tx)
  "Return a work that removes what is the user's, to answer the request TX."
  (make-assay-work
   :tx tx
   :run (lambda (_) (list :problems (assay-state-reset)))
   :answer #'assay-run--reset-complete))

(defun assay-run--reset-complete (work outcome)
  "Answer the reset of WORK, which ended with OUTCOME."
  (let ((problems (cond ((null outcome) '("stopped before it ran"))
                        ((plist-get outcome :error) (list (plist-get outcome :error)))
                        (t (plist-get outcome :problems)))))
    (apply #'assay-channel-answer (assay-work-tx work)
           :type "reset_kernel_globals_complete"
           :threads (vconcat (assay-state-threads))
           (and problems (list :error (mapconcat #'identity problems "; "))))))

(provide 'assay-run)
;;; assay-run.el ends here
