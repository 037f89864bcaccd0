;;; assay-state.el --- What of the process is the user's, beside names  -*- lexical-binding: t -*-

;;; Commentary:

;; Files visited, timers, processes, folder, environment: they last from one cell
;; to the next, and a reset ends them.

;;; Code:

(require 'assay-names)
(require 'assay-text)

(defvar assay-state--buffer nil "The buffer that the last code left current.")
(defvar assay-state--folder nil "The working folder at the start.")
(defvar assay-state--environment nil "`process-environment' at the start.")
(defvar assay-state--buffers nil "The buffers at the start.")
(defvar assay-state--processes nil "The processes at the start.")

(defun assay-state-settle ()
  "Take the process as it is now for the state without anything of the user's."
  (setq assay-state--folder default-directory
        assay-state--environment (copy-sequence process-environment)
        assay-state--buffers (buffer-list)
        assay-state--processes (process-list))
  (assay-names-settle))

(defun assay-state-buffer ()
  "Return the buffer to run code in: the one that the last code left, or *scratch*."
  (if (buffer-live-p assay-state--buffer)
      assay-state--buffer
    (get-buffer-create "*scratch*")))

(defun assay-state-keep-buffer ()
  "Have the next code run in the current buffer."
  (setq assay-state--buffer (current-buffer)))

(defun assay-state-reset ()
  "Put the process back to where it was settled, as far as that can be.
Packages stay loaded.  Return what went wrong, as a list of texts."
  (delq nil (mapcar #'assay-state--attempt
                    '(assay-state--end-processes assay-state--kill-buffers
                      assay-names-clear assay-state--go-back))))

(defun assay-state--attempt (step)
  "Call STEP and return the text of its error, nil where there was none."
  (condition-case condition
      (progn (funcall step) nil)
    (t (assay-describe condition))))

(defun assay-state--end-processes ()
  "End the user's timers and processes."
  (setq timer-list nil
        timer-idle-list nil)
  (dolist (process (process-list))
    (unless (memq process assay-state--processes)
      (set-process-sentinel process nil)
      (delete-process process))))

(defun assay-state--kill-buffers ()
  "Kill the user's buffers and empty *scratch*."
  (let ((kill-buffer-hook nil)
        (kill-buffer-query-functions nil))
    (dolist (buffer (buffer-list))
      (unless (memq buffer assay-state--buffers)
        (with-current-buffer buffer
          (set-buffer-modified-p nil)
          (setq-local kill-buffer-hook nil
                      kill-buffer-query-functions nil))
        (kill-buffer buffer))))
  (setq assay-state--buffer nil)
  (with-current-buffer (assay-state-buffer)
    (widen)
    (let ((inhibit-read-only t))
      (erase-buffer))))

(defun assay-state--go-back ()
  "Go back to the folder and the environment."
  (setq process-environment (copy-sequence assay-state--environment))
  (setq-default default-directory assay-state--folder)
  (with-current-buffer (assay-state-buffer)
    (setq default-directory assay-state--folder)))

(defun assay-state-threads ()
  "Return the names of the user's threads, which nothing can end."
  (let ((names nil))
    (dolist (thread (all-threads) (nreverse names))
      (unless (eq thread main-thread)
        (push (assay-sound (or (thread-name thread) "")) names)))))

(provide 'assay-state)
;;; assay-state.el ends here
