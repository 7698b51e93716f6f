/** The descriptor of a program's channel to the service. Here, so that the program loads nothing else. */
export const channelDescriptor = 3;
