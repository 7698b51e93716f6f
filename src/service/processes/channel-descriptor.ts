/** The file descriptor of a program's channel to the service. A separate file, so that the program loads nothing else. */
export const channelDescriptor = 3;
