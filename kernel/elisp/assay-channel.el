;;; assay-channel.el --- The socket to the server: frames in, frames out  -*- lexical-binding: t -*-

;;; Commentary:

;; A frame is the length of its body, as eight bytes little-endian, and the body:
;; one JSON object, or raw text of a stream, see `assay-channel-send-text'.
;;
;; The socket is read only in `assay-channel--while-reading', so that code of the
;; user that waits, or is interrupted, cannot leave a frame half read.

;;; Code:

(require 'assay-print)

(defconst assay-channel--max-body-bytes (ash 64 20) "Largest body in bytes.")
(defconst assay-channel--long-wait 86400 "Seconds to wait when only the socket can wake Emacs.")
(defconst assay-channel--short-wait 0.05 "Seconds to wait when a timer or filter may read the socket meanwhile.")
(defconst assay-channel--header-bytes 8 "Size of the length before a body, in bytes.")

(defvar assay-channel--process nil "The connection to the server.")
(defvar assay-channel--closed nil "Whether the connection has ended.")
(defvar assay-channel--input "" "Received bytes, joined.")
(defvar assay-channel--position 0 "Index of the next frame in the input.")
(defvar assay-channel--chunks nil "Received strings that follow the input, newest first.")
(defvar assay-channel--chunk-bytes 0 "Total bytes in the chunks.")

(defun assay-channel-open (path)
  "Connect to the socket at PATH.  Emacs exits when the server closes it."
  (setq read-process-output-max (ash 1 18)
        assay-channel--process
        (make-network-process
         :name "assay" :family 'local :service path :coding 'binary :noquery t
         :filter t :sentinel #'assay-channel--ended)))

(defun assay-channel--ended (process _event)
  "Exit Emacs, unless PROCESS is alive."
  (unless (process-live-p process)
    (setq assay-channel--closed t)
    (kill-emacs 0)))

(defun assay-channel--receive (_process chunk)
  "Store CHUNK.  Chunks are joined when a frame is complete."
  (push chunk assay-channel--chunks)
  (setq assay-channel--chunk-bytes (+ assay-channel--chunk-bytes (length chunk))))

(defmacro assay-channel--while-reading (&rest body)
  "Evaluate BODY while what arrives at the socket is stored."
  `(unwind-protect
       (progn (set-process-filter assay-channel--process #'assay-channel--receive)
              ,@body)
     (set-process-filter assay-channel--process t)))

(defun assay-channel-wait ()
  "Wait until something may have arrived.
Timers and filters of other processes run meanwhile.  If one of them waits
itself, it reads the socket and this function does not notice, so the wait is
short while there are any.  It must be finite in any case: Emacs refuses to wait
forever while quitting is inhibited."
  (assay-channel--while-reading
   (accept-process-output
    assay-channel--process
    (if (or timer-list timer-idle-list (cdr (process-list)) (cdr (all-threads)))
        assay-channel--short-wait
      assay-channel--long-wait))))

(defun assay-channel-poll ()
  "Read what has arrived, without running timers or other filters."
  (assay-channel--while-reading
   (while (accept-process-output assay-channel--process 0 nil 0))))

(defun assay-channel-next ()
  "Return the body of the next frame as bytes, or nil if it is incomplete."
  (when (assay-channel--ensure-input assay-channel--header-bytes)
    (let ((length (assay-channel--next-length)))
      (unless (<= 1 length assay-channel--max-body-bytes)
        (assay-channel--exit-bad-length length))
      (when (assay-channel--ensure-input (+ assay-channel--header-bytes length))
        (let* ((start (+ assay-channel--position assay-channel--header-bytes))
               (end (+ start length)))
          (setq assay-channel--position end)
          (substring assay-channel--input start end))))))

(defun assay-channel--ensure-input (count)
  "Return whether COUNT bytes have arrived, and then join them into the input."
  (let ((ready (- (length assay-channel--input) assay-channel--position)))
    (when (and (< ready count) (<= count (+ ready assay-channel--chunk-bytes)))
      (setq assay-channel--input
            (apply #'concat (substring assay-channel--input assay-channel--position)
                   (nreverse assay-channel--chunks))
            assay-channel--position 0
            assay-channel--chunks nil
            ready (+ ready assay-channel--chunk-bytes)
            assay-channel--chunk-bytes 0))
    (<= count ready)))

(defun assay-channel--next-length ()
  "Return the length of the next body, a signed number."
  (let ((length 0))
    (dotimes (i assay-channel--header-bytes)
      (setq length (logior length (ash (aref assay-channel--input (+ assay-channel--position i))
                                       (* 8 i)))))
    (if (< length (ash 1 63)) length (- length (ash 1 64)))))

(defun assay-channel--exit-bad-length (length)
  "Exit Emacs because the next frame has an invalid LENGTH."
  (princ (format "kernel: frame length %d, not between 1 and %d\n" length assay-channel--max-body-bytes)
         #'external-debugging-output)
  (kill-emacs 1))

(defun assay-channel-send (message)
  "Send MESSAGE, a plist or hash table that `json-serialize' accepts."
  (assay-channel--write (encode-coding-string (json-serialize message) 'utf-8-unix)))

(defun assay-channel-answer (tx &rest message)
  "Send MESSAGE, a plist, as the answer to the request with the id TX.
TX may be nil."
  (assay-channel-send (if tx (append message (list :agent_tx_id tx)) message)))

(defun assay-channel-send-text (cell text)
  "Send TEXT as stdout of CELL, an id in UTF-8, or of no cell if it is empty."
  (assay-channel--write
   (concat (unibyte-string 0 1 (logand (length cell) 255) (ash (length cell) -8))
           cell (encode-coding-string (assay-valid-unicode text) 'utf-8-unix))))

(defun assay-channel--write (body)
  "Send BODY, bytes, in a frame.
If this is interrupted, Emacs sends the rest before the next frame."
  (unless assay-channel--closed
    (condition-case nil
        (process-send-string
         assay-channel--process (concat (assay-channel--encode-length (length body)) body))
      (error (assay-channel--ended assay-channel--process nil)))))

(defun assay-channel--encode-length (length)
  "Return LENGTH as eight bytes, little-endian."
  (apply #'unibyte-string
         (mapcar (lambda (i) (logand (ash length (* -8 i)) 255)) '(0 1 2 3 4 5 6 7))))

(provide 'assay-channel)
;;; assay-channel.el ends here
