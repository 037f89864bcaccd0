;;; assay-schedule.el --- The queue of tasks  -*- lexical-binding: t -*-

;;; Commentary:

;; Tasks run one after the other, in the order in which they came.  A task that
;; is stopped while it is queued is answered as if it had begun and been
;; interrupted.

;;; Code:

(eval-when-compile (require 'cl-lib))
(require 'assay-channel)
(require 'assay-print)

(cl-defstruct (assay-task (:copier nil))
  "Something that runs code of the user, or resets all of its effects."
  (cell nil :documentation "Id of the cell, or nil if this is not the run of a cell.")
  (tx nil :documentation "The `agent_tx_id' of the request, or nil.")
  (run nil :documentation "Function of the task that runs it and returns a plist, its outcome.")
  (answer nil :documentation "Function of the task and its outcome, or nil if it was rejected.")
  (sequencer 0 :documentation "Number of the cell run.")
  (stopped nil :documentation "Whether the server stopped it while it ran."))

(defvar assay-schedule--waiting nil "Queued tasks, in the order in which they came.")
(defvar assay-schedule--running nil "The running task, or nil.")
(defvar assay-schedule--sequencer 0 "Number of the last cell run.")
(defvar assay-schedule--announced nil "The queued cells as last sent to the server.")
(defvar assay-schedule--cell-announced nil "Whether the last start_cell sent names a cell.")

(defun assay-schedule-add (task)
  "Queue TASK.  If it is alone it runs at once, and the queue is not sent."
  (let ((alone (null assay-schedule--waiting)))
    (setq assay-schedule--waiting (append assay-schedule--waiting (list task)))
    (unless alone
      (assay-schedule--announce))))

(defun assay-schedule-run-next ()
  "Run the next task.  Return nil if there is none."
  (let ((task (pop assay-schedule--waiting)))
    (if (null task)
        (assay-schedule--announce-idle)
      (assay-schedule--announce)
      (assay-schedule--announce-start task)
      (setq assay-schedule--running task)
      (funcall (assay-task-answer task) task (assay-schedule--outcome task))
      (setq assay-schedule--running nil)
      t)))

(defun assay-schedule--outcome (task)
  "Run TASK and return its outcome, even if the kernel itself fails."
  (condition-case condition
      (funcall (assay-task-run task) task)
    (error (list :error (assay-describe condition)
                 :name (assay-valid-unicode (format "%s" (car condition)))))))

(defun assay-schedule-reject-waiting (cell tx)
  "Reject queued runs of CELL or, if that is nil, the queued request TX."
  (let ((rejected nil))
    (dolist (task assay-schedule--waiting)
      (when (assay-schedule--matches-p task cell tx)
        (push task rejected)))
    (dolist (task rejected)
      (setq assay-schedule--waiting (remq task assay-schedule--waiting)))
    (assay-schedule--announce)
    (dolist (task (nreverse rejected))
      (assay-schedule--announce-start task)
      (funcall (assay-task-answer task) task nil))))

(defun assay-schedule-mark-stopped (cell tx)
  "Mark the running task as stopped if it is a run of CELL or the request TX."
  (let ((task assay-schedule--running))
    (when (and task (assay-schedule--matches-p task cell tx))
      (setf (assay-task-stopped task) t))))

(defun assay-schedule-stopped-p ()
  "Return whether the running task was stopped."
  (and assay-schedule--running (assay-task-stopped assay-schedule--running)))

(defun assay-schedule--matches-p (task cell tx)
  "Return whether TASK is a run of CELL or, if that is nil, the request TX."
  (if cell
      (equal (assay-task-cell task) cell)
    (and (null (assay-task-cell task)) tx (equal (assay-task-tx task) tx))))

(defun assay-schedule--announce-start (task)
  "Send the start of TASK, if it is the run of a cell."
  (when (assay-task-cell task)
    (setq assay-schedule--sequencer (1+ assay-schedule--sequencer)
          assay-schedule--cell-announced t)
    (setf (assay-task-sequencer task) assay-schedule--sequencer)
    (assay-schedule--start-cell (assay-task-cell task))))

(defun assay-schedule--announce ()
  "Send the queued cells, if they have changed."
  (let ((queue (delq nil (mapcar #'assay-task-cell assay-schedule--waiting))))
    (unless (equal queue assay-schedule--announced)
      (setq assay-schedule--announced queue)
      (assay-channel-send (list :type "run_queue" :queue (vconcat queue))))))

(defun assay-schedule--announce-idle ()
  "Send that no cell runs, once."
  (when assay-schedule--cell-announced
    (setq assay-schedule--cell-announced nil)
    (assay-schedule--start-cell :null)))

(defun assay-schedule--start-cell (cell)
  "Send start_cell with the id CELL, or :null."
  (assay-channel-send
   (list :type "start_cell" :cell_id cell :run_sequencer assay-schedule--sequencer)))

(defun assay-schedule-state ()
  "Return the state of the queue for debug_state, as a plist."
  (list :queue (vconcat assay-schedule--announced)
        :running []
        :waiting (length assay-schedule--waiting)
        :run_sequencer assay-schedule--sequencer))

(provide 'assay-schedule)
;;; assay-schedule.el ends here
