;;; assay-schedule.el --- What waits, what runs, what was stopped  -*- lexical-binding: t -*-

;;; Commentary:

;; Works run one after the other, in the order in which they came.  One that is
;; stopped while it waits is answered as if it had begun and been interrupted.

;;; Code:

(eval-when-compile (require 'cl-lib))
(require 'assay-channel)
(require 'assay-print)

(cl-defstruct (assay-work (:copier nil))
  "Something that runs code of the user's or concerns all of it; one at a time, in order."
  (cell nil :documentation "Id of the cell; nil: it is no run of one.")
  (tx nil :documentation "The `agent_tx_id' of the request, or nil.")
  (run nil :documentation "Function of the work that runs it and returns the outcome, a plist.")
  (answer nil :documentation "Function of the work and its outcome, nil where it never began.")
  (sequencer 0 :documentation "Number of the run of a cell.")
  (stopped nil :documentation "Whether it was asked to stop while it ran."))

(defvar assay-schedule--waiting nil "Works in the order in which they came.")
(defvar assay-schedule--running nil "The work that runs, or nil.")
(defvar assay-schedule--sequencer 0 "Of the run of a cell that began last.")
(defvar assay-schedule--announced nil "The queue as the server knows it.")
(defvar assay-schedule--busy nil "Whether the server believes that a cell runs.")

(defun assay-schedule-add (work)
  "Let WORK wait for its turn.  What runs at once is never announced as waiting."
  (let ((alone (null assay-schedule--waiting)))
    (setq assay-schedule--waiting (append assay-schedule--waiting (list work)))
    (unless alone
      (assay-schedule--announce))))

(defun assay-schedule-run-next ()
  "Run the work whose turn it is.  Return nil where there is none."
  (let ((work (pop assay-schedule--waiting)))
    (if (null work)
        (assay-schedule--announce-idle)
      (assay-schedule--announce)
      (assay-schedule--begin work)
      (setq assay-schedule--running work)
      (funcall (assay-work-answer work) work (assay-schedule--outcome work))
      (setq assay-schedule--running nil)
      t)))

(defun assay-schedule--outcome (work)
  "Run WORK and return its outcome, also where the kernel itself failed."
  (condition-case condition
      (funcall (assay-work-run work) work)
    (error (list :error (assay-describe condition)
                 :name (assay-sound (format "%s" (car condition)))))))

(defun assay-schedule-stop (cell tx)
  "Refuse what waits and is a run of CELL or, without a CELL, the request TX."
  (let ((refused nil))
    (dolist (work assay-schedule--waiting)
      (when (assay-schedule--is work cell tx)
        (push work refused)))
    (dolist (work refused)
      (setq assay-schedule--waiting (remq work assay-schedule--waiting)))
    (assay-schedule--announce)
    (dolist (work (nreverse refused))
      (assay-schedule--begin work)
      (funcall (assay-work-answer work) work nil))))

(defun assay-schedule-stop-running (cell tx)
  "Note that what runs was stopped, if it is a run of CELL or the request TX."
  (let ((work assay-schedule--running))
    (when (and work (assay-schedule--is work cell tx))
      (setf (assay-work-stopped work) t))))

(defun assay-schedule-stopped-p ()
  "Whether what runs was stopped."
  (and assay-schedule--running (assay-work-stopped assay-schedule--running)))

(defun assay-schedule--is (work cell tx)
  "Whether WORK is a run of CELL or, where that is nil, the request TX."
  (if cell
      (equal (assay-work-cell work) cell)
    (and (null (assay-work-cell work)) tx (equal (assay-work-tx work) tx))))

(defun assay-schedule--begin (work)
  "Say that WORK begins, if it is the run of a cell."
  (when (assay-work-cell work)
    (setq assay-schedule--sequencer (1+ assay-schedule--sequencer)
          assay-schedule--busy t)
    (setf (assay-work-sequencer work) assay-schedule--sequencer)
    (assay-schedule--start-cell (assay-work-cell work))))

(defun assay-schedule--announce ()
  "Tell the server which cells wait, if it does not know."
  (let ((queue (delq nil (mapcar #'assay-work-cell assay-schedule--waiting))))
    (unless (equal queue assay-schedule--announced)
      (setq assay-schedule--announced queue)
      (assay-channel-send (list :type "run_queue" :queue (vconcat queue))))))

(defun assay-schedule--announce-idle ()
  "Tell the server that nothing runs, if it does not know."
  (when assay-schedule--busy
    (setq assay-schedule--busy nil)
    (assay-schedule--start-cell :null)))

(defun assay-schedule--start-cell (cell)
  "Send start_cell with the id CELL, or :null."
  (assay-channel-send
   (list :type "start_cell" :cell_id cell :run_sequencer assay-schedule--sequencer)))

(defun assay-schedule-state ()
  "Return what debug_state tells of it, as a plist."
  (list :queue (vconcat assay-schedule--announced)
        :running []
        :waiting (length assay-schedule--waiting)
        :run_sequencer assay-schedule--sequencer))

(provide 'assay-schedule)
;;; assay-schedule.el ends here
